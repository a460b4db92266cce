"""`evaluate`: accuracy per length and the paper's score, for any function of token arrays."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from jaxtyping import Int

from randpos.benchmark.formats import placeholders
from randpos.benchmark.sampling import Lengths, checked_lengths
from randpos.benchmark.storing import Entry, recording
from randpos.benchmark.streams import Block, blocks
from randpos.benchmark.vocabulary import NO_CLASS
from randpos.errors import UserError, check_count, plain
from randpos.settings import Evaluation
from randpos.store.result import Accuracy
from randpos.tasks import get_task
from randpos.tasks.base import Task
from randpos.training.mean_accuracy import mean_where_tested

Model = Callable[[Int[np.ndarray, "examples tokens"]], Int[np.ndarray, "examples output"]]
"""Maps tokens to answers.

Tokens are the input followed by one placeholder (the id `task.tokens`) per output. Answers are one
output class per placeholder. An answer that is not a class is −1 and counts as wrong."""


@dataclass(frozen=True)
class Result:
    """What an evaluation measured, by length."""

    task: str
    accuracies: tuple[Accuracy, ...]
    training_length: int = 40
    """N, the longest length that the model was trained on."""
    count: int = 500
    """Examples per length."""
    seed: int = 0
    """Seed of the test examples."""

    @property
    def score(self) -> float | None:
        """The paper's score: mean accuracy over the lengths beyond N; None if none was tested."""
        return mean_where_tested(self.accuracies, self.training_length + 1)

    @property
    def in_domain(self) -> float | None:
        """Mean accuracy over the lengths up to N; None if none was tested."""
        return mean_where_tested(self.accuracies, 1, self.training_length)

    def table(self) -> pl.DataFrame:
        """Returns the columns `length`, `accuracy` (of tokens) and `whole` (of sequences)."""
        rows = [(a.length, a.accuracy, a.whole) for a in self.accuracies]
        return pl.DataFrame(rows, schema=["length", "accuracy", "whole"], orient="row")


class EvaluationError(UserError):
    """The model failed at a length; `result` has all lengths measured before."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


class AnswerError(UserError):
    """The model returned something that is not one class per placeholder."""


def evaluate(
    model: Model,
    task: str,
    lengths: Lengths = range(1, 501),
    *,
    count: int = 500,
    batch: int | None = None,
    seed: int = 0,
    training_length: int = 40,
    entry: Entry | None = None,
) -> Result:
    """Tests a model at each length on the examples of the split `test`.

    Args:
        model: Maps tokens to answers; see `Model`.
        task: A task's name, or `module:Class` for one of your own.
        lengths: Lengths to test, shortest first. The paper tests 1..500; lengths that are skipped
            are interpolated in the score.
        count: Examples per length; the paper tests 500.
        batch: Most examples per call of the model; by default all of a length.
        seed: Seed of the test examples. Keep 0 to compare with others.
        training_length: N, the longest length that the model was trained on.
        entry: The row of a store that the result becomes. It is written after every length, and is
            complete once all lengths are tested. For a score in tables, test N + 1 too.

    Raises:
        EvaluationError: The model failed or returned a wrong shape, type or NaN. Its `result`
            has the lengths before, and so has the store.
    """
    problem, wanted = get_task(task), checked_lengths(lengths)
    check_count("count", count)
    check_count("training_length", training_length)
    if batch is not None:
        check_count("batch", batch)
    found: dict[int, Accuracy] = {}

    def result() -> Result:
        accuracies = tuple(found[length] for length in sorted(found))
        return Result(task, accuracies, training_length, count, seed)

    with contextlib.ExitStack() as stack:
        recorder = None
        if entry is not None:
            way = Evaluation(batch=count, seed=seed, draws=1)
            experiment = entry.experiment(task, max(wanted), training_length, way)
            recorder = stack.enter_context(recording(entry, experiment))
            found |= {accuracy.length: accuracy for accuracy in recorder.measured()}
        for length in wanted:
            if length in found:
                continue
            try:
                found[length] = measure(model, problem, length, count, batch or count, seed)
            except AnswerError as error:
                raise EvaluationError(f"At length {length} {error}", result()) from error
            if recorder is not None:
                recorder.write(result().accuracies)
        if recorder is not None:
            recorder.finish()
    return result()


def measure(model: Model, task: Task, length: int, count: int, batch: int, seed: int) -> Accuracy:
    """Tests a model at one length."""
    right = counted = whole = 0
    for block in _pieces(blocks(task, length, count, seed, "test"), batch):
        correct = (_answers(model, task, block) == block.outputs) & block.counted
        right += int(correct.sum())
        counted += int(block.counted.sum())
        whole += int((correct | ~block.counted).all(axis=1).sum())
    return Accuracy(length, right / counted, whole / count)


def _pieces(every: Iterator[Block], batch: int) -> Iterator[Block]:
    for length, *arrays in every:
        for start in range(0, len(arrays[0]), batch):
            yield Block(length, *(array[start : start + batch] for array in arrays))


def _answers(model: Model, task: Task, block: Block) -> np.ndarray:
    tokens = placeholders(task, block)
    given = f"for tokens of shape {tokens.shape}"
    try:
        answers = np.asarray(model(tokens.copy()))
    except AnswerError:
        raise
    except Exception as error:
        reason = plain(f"{type(error).__name__}: {error}", 300)
        raise AnswerError(f"the model failed {given} ({reason}).") from error
    check_answers(answers, block.outputs.shape, task, given)
    return answers


def check_answers(answers: np.ndarray, wanted: Sequence[int], task: Task, given: str) -> None:
    """Raises `AnswerError` unless there is one class per placeholder."""
    shape = f"an array of shape {answers.shape}"
    check_finite(answers, given)
    if answers.shape != tuple(wanted):
        raise AnswerError(
            f"the model returned {shape} {given}; return shape {tuple(wanted)}, "
            "one class per placeholder."
        )
    if answers.dtype.kind not in "iu":
        raise AnswerError(
            f"the model returned {shape} and type {answers.dtype} {given}; return integers, "
            "such as the argmax of the logits."
        )
    outside = (answers < NO_CLASS) | (answers >= task.classes)
    if outside.any():
        raise AnswerError(
            f"the model returned {shape} with class {answers[outside][0]} {given}; {task.name} has "
            f"classes 0..{task.classes - 1}, and −1 stands for none of them."
        )


def check_finite(numbers: np.ndarray, given: str) -> None:
    """Raises `AnswerError` if an array of floats contains NaN."""
    if numbers.dtype.kind == "f" and np.isnan(numbers).any():
        raise AnswerError(f"the model returned an array of shape {numbers.shape} with NaN {given}.")

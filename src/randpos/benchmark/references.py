"""Reference rows with known scores: a random guess, a constant answer and a perfect oracle."""

import numpy as np

from randpos.benchmark.evaluation import Model
from randpos.benchmark.solvers import SOLVERS
from randpos.benchmark.streams import Block, blocks
from randpos.errors import UserError
from randpos.tasks import get_task
from randpos.tasks.base import Task

SAMPLE = 2000
"""Training examples per length that the constant answer is the majority of."""


def random_guess(task: str, seed: int = 0) -> Model:
    """Guesses every output uniformly, the terminator excepted.

    Its expected accuracy is the task's chance level times the share of outputs that are not
    terminators. Without terminators it is the chance level itself.
    """
    problem, rng = get_task(task), np.random.default_rng(seed)
    classes = [c for c in range(problem.classes) if c != problem.terminator]

    def guess(tokens: np.ndarray) -> np.ndarray:
        return rng.choice(classes, size=split(problem, tokens)[1].shape)

    return guess


def constant_answer(task: str, seed: int = 0) -> Model:
    """Answers without reading the input: at each output the most frequent class there.

    The frequencies are those of training examples of the same length. A model
    that knows only the position of an output reaches this accuracy. In bucket_sort it is far above
    chance.
    """
    problem = get_task(task)
    known: dict[tuple[int, int], np.ndarray] = {}

    def answer(tokens: np.ndarray) -> np.ndarray:
        inputs, outputs = split(problem, tokens)
        size = (inputs.shape[1], outputs.shape[1])
        if size not in known:
            known[size] = majority(problem, _length(problem, *size), seed)
        return np.broadcast_to(known[size], outputs.shape)

    return answer


def perfect_oracle(task: str) -> Model:
    """Solves the task from its tokens: the score is 100 % at every length."""
    problem = get_task(task)
    if problem.name not in SOLVERS:
        raise UserError(f"There is no oracle for {task}; there is one for: {', '.join(SOLVERS)}.")

    def solve(tokens: np.ndarray) -> np.ndarray:
        inputs, outputs = split(problem, tokens)
        return SOLVERS[problem.name](inputs, outputs.shape[1])

    return solve


def references(task: str) -> dict[str, Model]:
    """Returns the reference models of a task, by the names of their rows."""
    found = {"random-guess": random_guess(task), "constant-answer": constant_answer(task)}
    if get_task(task).name in SOLVERS:
        found["perfect-oracle"] = perfect_oracle(task)
    return found


def split(task: Task, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the inputs and the placeholders of token rows."""
    inputs = int((tokens[0] != task.tokens).sum())
    return tokens[:, :inputs], tokens[:, inputs:]


def _length(task: Task, inputs: int, outputs: int) -> int:
    """Returns the largest sampled length with these numbers of tokens.

    An even n of modular_arithmetic_simple has as many tokens as n − 1, and the same law.
    """
    sizes = ((n, task.input_length(n), task.output_length(n)) for n in range(1, inputs + 2))
    fits = [n for n, *size in sizes if tuple(map(int, size)) == (inputs, outputs)]
    if not fits:
        raise UserError(f"No length of {task.name} has {inputs} inputs and {outputs} outputs.")
    return fits[-1]


def majority(task: Task, length: int, seed: int) -> np.ndarray:
    """Returns the most frequent counted class of each output position of a length."""
    totals = np.zeros((int(task.output_length(length)), task.classes), int)
    for block in blocks(task, length, SAMPLE, seed, "train"):
        totals += frequencies(task, block)
    return totals.argmax(axis=1)


def frequencies(task: Task, block: Block) -> np.ndarray:
    """Counts how often each class stands at each output position and counts there."""
    kinds = range(task.classes)
    return np.stack([((block.outputs == c) & block.counted).sum(axis=0) for c in kinds], axis=1)

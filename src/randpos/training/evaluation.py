"""Evaluation: accuracy at every length, far beyond the training lengths, and the score.

Each length is tested on one batch with one draw of positions (randomized at test time too). Lengths
are padded to a few static sizes; a batch is computed in pieces that bound the memory. Where even
that is too much memory, the batch is halved until it fits, one part after the other.
"""

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.nn.model import Encoder
from randpos.tasks.base import Length
from randpos.training.batch import assemble, total_length

BUDGET = 2**25
"""Bytes that one piece's attention logits may take."""


class Accuracy(NamedTuple):
    """How well one length is solved."""

    length: int
    accuracy: float
    """Share of the counted output tokens that are right."""
    whole: float
    """Share of the sequences whose counted tokens are all right."""


def lengths_to_test(experiment: Experiment, longest: int | None = None) -> list[int]:
    """Returns the lengths to test: every `stride`-th, the training range's ends and the longest.

    >>> from randpos.experiment import Evaluation
    >>> lengths_to_test(Experiment(test_length=60, evaluation=Evaluation(stride=10)))
    [1, 10, 20, 30, 40, 41, 50, 60]
    """
    seen, every = experiment.lengths.maximum, experiment.evaluation.stride
    longest = experiment.test_length if longest is None else longest
    if not 1 <= longest <= experiment.test_length:
        raise UserError(
            f"max_length={longest} must lie between 1 and M={experiment.test_length}, "
            "the test length that the run was made for."
        )
    ends = {1, seen, seen + 1, longest}
    return sorted(n for n in ends.union(range(every, longest + 1, every)) if n <= longest)


def score(accuracies: Sequence[Accuracy], training_length: int) -> float | None:
    """Returns the mean accuracy over the lengths beyond training, N+1..M: the paper's score.

    Lengths that were skipped are interpolated, so that a coarse evaluation weighs all lengths
    alike; over all lengths this is the plain mean. None if no such length was tested.
    """
    return _mean([a for a in accuracies if a.length > training_length])


def in_domain(accuracies: Sequence[Accuracy], training_length: int) -> float | None:
    """Returns the mean accuracy over the training lengths 1..N."""
    return _mean([a for a in accuracies if a.length <= training_length])


def _mean(accuracies: Sequence[Accuracy]) -> float | None:
    if not accuracies:
        return None
    ordered = sorted(accuracies)
    total, count = ordered[0].accuracy, 1
    for left, right in itertools.pairwise(ordered):
        step = right.length - left.length
        slope = (right.accuracy - left.accuracy) / step
        total += sum(left.accuracy + slope * i for i in range(1, step + 1))
        count += step
    return total / count


def sizes(experiment: Experiment) -> list[int]:
    """Returns the static lengths that tested lengths are padded to: finer where they are short."""
    steps, size = [], float(experiment.lengths.maximum)
    while size < experiment.test_length:
        steps.append(int(size))
        size = min(size * 1.5, size + 100)
    return [*steps, experiment.test_length]


def piece_count(experiment: Experiment, size: int, parts: int = 1) -> int:
    """Returns in how many pieces a part of a batch is computed: each piece's logits fit the budget.

    Args:
        experiment: What is tested.
        size: The length that sequences are padded to.
        parts: Into how many parts the batch is cut.
    """
    time = int(total_length(experiment.problem, size))
    example = 4 * experiment.model.heads * time * time
    return -(-part_size(experiment, parts) // max(1, BUDGET // example))


def part_size(experiment: Experiment, parts: int) -> int:
    """Returns the number of examples in each of the parts of a batch, the last one filled up."""
    return -(-experiment.evaluation.batch // parts)


def compiler_options() -> dict[str, bool] | None:
    """Returns how evaluation is compiled on this backend.

    XLA's fusion emitters for the CPU (jax 0.10) give two functions one name in programs such as
    relative encodings with |y| = 1 at T = 303, and fail. Evaluation is as fast without them.
    """
    on_cpu = jax.default_backend() == "cpu"
    return {"xla_cpu_use_fusion_emitters": False} if on_cpu else None


class Evaluator:
    """Tests models of one experiment, of whatever seed and learning rate.

    Args:
        experiment: What was trained, and how it is tested.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.programs: dict[tuple[int, int], Callable[..., tuple[Array, ...]]] = {}
        self.parts = 1
        """Into how many parts a batch is cut, so that each fits into the memory."""

    def test(self, parameters: PyTree, lengths: Sequence[int]) -> Iterator[Accuracy]:
        """Tests parameters at each of the lengths, shortest first."""
        for length in sorted(lengths):
            measured = None
            while measured is None:
                measured = self._try(parameters, length)
            yield measured

    def _try(self, parameters: PyTree, length: int) -> Accuracy | None:
        """Tests one length; returns None if it must be tried again in smaller parts."""
        try:
            return self._measure(parameters, length)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            if self.parts >= self.experiment.evaluation.batch:
                raise UserError(
                    f"length {length} of {self.experiment.task} does not fit into the memory, not "
                    "even one example at a time; test shorter lengths or find more memory."
                ) from error
            self.parts *= 2
            self.programs.clear()
            warnings.warn(
                f"length {length} does not fit into the memory; it is tested in {self.parts} "
                "parts, with the same result.",
                stacklevel=2,
            )
            return None

    def _measure(self, parameters: PyTree, length: int) -> Accuracy:
        size = next(bound for bound in sizes(self.experiment) if bound >= length)
        where, at = (size, self.parts), jnp.asarray(length, jnp.int32)
        if where not in self.programs:
            function = accuracy if self.parts == 1 else partial(count, parts=self.parts)
            program = partial(function, self.experiment, size)
            self.programs[where] = jax.jit(program, compiler_options=compiler_options())
        program = self.programs[where]
        if self.parts == 1:
            right, whole = program(parameters, at)
            return Accuracy(length, float(right), float(whole))
        firsts = range(0, self.experiment.evaluation.batch, part_size(self.experiment, self.parts))
        found = [program(parameters, at, jnp.asarray(first, jnp.int32)) for first in firsts]
        right, counted, whole = (np.float32(sum(map(int, one))) for one in zip(*found, strict=True))
        batch = np.float32(self.experiment.evaluation.batch)
        return Accuracy(length, float(right / counted), float(whole / batch))


def accuracy(
    experiment: Experiment, size: int, parameters: PyTree, length: Int[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Returns the shares of right tokens and of right sequences at a length up to `size`."""
    right, counted, whole = count(experiment, size, parameters, length)
    return right / counted, whole / experiment.evaluation.batch


def count(
    experiment: Experiment,
    size: int,
    parameters: PyTree,
    length: Int[Array, ""],
    first: Length = 0,
    *,
    parts: int = 1,
) -> tuple[Int[Array, ""], Int[Array, ""], Int[Array, ""]]:
    """Counts the right tokens, all that count, and the right sequences of a part of the batch.

    Args:
        experiment: What is tested.
        size: The static length that sequences are padded to.
        parameters: The model's.
        length: The length n, at most `size`.
        first: The first example of the part.
        parts: How many parts there are.
    """
    _, static = experiment.skeleton()
    task, options = experiment.problem, experiment.evaluation
    pieces, part = piece_count(experiment, size, parts), part_size(experiment, parts)
    # Rounded up to whole pieces; the surplus examples are not counted.
    examples = -(-part // pieces) * pieces

    key = jax.random.fold_in(jax.random.key(options.seed), length)
    to_batch, to_positions = jax.random.split(key)
    batch = task.sample(to_batch, length, examples, size, first)
    sequences = assemble(task, batch, length)
    where = experiment.scheme.draws(
        to_positions, sequences.length, sequences.tokens.shape[1], experiment.model.layers
    )
    model: Encoder = eqx.combine(parameters, static)
    logits = model(
        sequences.tokens,
        where,
        mask=sequences.mask,
        outputs=sequences.outputs,
        pieces=pieces,
    )
    left = options.batch - first
    asked = jnp.arange(examples) < (part if parts == 1 else jnp.minimum(part, left))
    counted = batch.counted & asked[:, None]
    right = (jnp.argmax(logits, axis=-1) == batch.outputs) & counted
    whole = jnp.all(right | ~counted, axis=-1) & asked
    return jnp.sum(right), jnp.sum(counted), jnp.sum(whole)

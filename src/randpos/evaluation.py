"""Evaluation: accuracy at every length, far beyond the training lengths, and the score.

Each length is tested on one batch with one draw of positions (randomized at test time too). Lengths
are padded to a few static sizes; a batch is computed in pieces that bound the memory.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from randpos.config import Experiment
from randpos.errors import UserError
from randpos.model import Encoder
from randpos.sequences import assemble, total_length

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

    >>> from randpos.config import Evaluation
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


def piece_count(experiment: Experiment, size: int) -> int:
    """Returns in how many pieces a batch is computed so that a piece's logits fit the budget."""
    time = int(total_length(experiment.problem, size))
    example = 4 * experiment.model.heads * time * time
    return -(-experiment.evaluation.batch // max(1, BUDGET // example))


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
        self.programs: dict[int, Callable[[PyTree, Int[Array, ""]], tuple[Array, Array]]] = {}

    def test(self, parameters: PyTree, lengths: Sequence[int]) -> Iterator[Accuracy]:
        """Tests parameters at each of the lengths, shortest first."""
        bounds = sizes(self.experiment)
        for length in sorted(lengths):
            size = next(bound for bound in bounds if bound >= length)
            if size not in self.programs:
                program = partial(accuracy, self.experiment, size)
                self.programs[size] = jax.jit(program, compiler_options=compiler_options())
            right, whole = self.programs[size](parameters, jnp.asarray(length, jnp.int32))
            yield Accuracy(length, float(right), float(whole))


def accuracy(
    experiment: Experiment, size: int, parameters: PyTree, length: Int[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Returns the shares of right tokens and of right sequences at a length up to `size`."""
    _, static = experiment.skeleton()
    task, options = experiment.problem, experiment.evaluation
    pieces = piece_count(experiment, size)
    # Rounded up to whole pieces; the surplus examples are not counted.
    examples = -(-options.batch // pieces) * pieces

    key = jax.random.fold_in(jax.random.key(options.seed), length)
    to_batch, to_positions = jax.random.split(key)
    batch = task.sample(to_batch, length, examples, size)
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
    counted = batch.counted & (jnp.arange(examples) < options.batch)[:, None]
    right = (jnp.argmax(logits, axis=-1) == batch.outputs) & counted
    whole = jnp.all(right | ~counted, axis=-1) & (jnp.arange(examples) < options.batch)
    return jnp.sum(right) / jnp.sum(counted), jnp.sum(whole) / options.batch

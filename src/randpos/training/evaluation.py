"""Evaluation: the accuracy at every length, also far beyond the training lengths.

The examples of a length are divided among its draws of positions (randomized at test time too).
Lengths are padded to a few static sizes; a batch is computed in pieces that bound the memory. Where
even that is too much memory, it is halved until it fits, one part after the other.
"""

import bisect
import dataclasses
import math
import threading
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from randpos.errors import UserError, check_count
from randpos.experiment import MAX_TEST_LENGTH, Experiment
from randpos.nn.model import Encoder
from randpos.numerics import compiler_options, random_stream
from randpos.setup import resolve
from randpos.store.result import Accuracy
from randpos.tasks.base import Length
from randpos.training.batch import assemble, draw_batch, right_answers
from randpos.training.compilation import Compiling, compile_once, silent
from randpos.training.generation import generate_in_pieces, right_generated

MAX_LOGIT_BYTES = 2**25
"""Bytes that one piece's attention logits may take."""


class Counts(NamedTuple):
    """Counts of a test with one draw of positions."""

    right: int | Int[Array, ""]
    """Right tokens."""
    counted: int | Int[Array, ""]
    """Tokens that count."""
    whole: int | Int[Array, ""]
    """Sequences whose counted tokens are all right."""
    forced: int | Int[Array, ""] | None = None
    """Right tokens of a decoder that reads the right answers; None for an encoder."""


def summarize(length: int, draws: Sequence[Counts], examples: int) -> Accuracy:
    """Returns the accuracy at a length from the counts of its draws.

    The standard error is that of a ratio of sums over independent draws.

    >>> summarize(7, [Counts(6, 10, 0), Counts(8, 10, 1)], examples=20)
    Accuracy(length=7, accuracy=0.7, whole=0.05, error=0.1, forced=None)
    """
    right, counted, whole = (sum(values) for values in zip(*(d[:3] for d in draws), strict=True))
    forced = [d.forced for d in draws if d.forced is not None]
    accuracy, error = right / counted, None
    if len(draws) > 1:
        squares = sum((d.right - accuracy * d.counted) ** 2 for d in draws)
        error = math.sqrt(squares * len(draws) / (len(draws) - 1)) / counted
    of_forced = float(sum(forced) / counted) if forced else None
    return Accuracy(length, accuracy, whole / examples, error, of_forced)


def lengths_to_test(experiment: Experiment, longest: int | None = None) -> list[int]:
    """Returns the lengths to test: one in every `stride`, the training range's ends, the longest.

    The place inside each window of `stride` lengths moves on from window to window, so that odd and
    even lengths, and all other residues, occur equally often.

    >>> from randpos.experiment import Evaluation
    >>> lengths_to_test(Experiment(test_length=60, evaluation=Evaluation(stride=10)))
    [1, 4, 18, 22, 36, 40, 41, 50, 53, 60]
    """
    seen, every = experiment.lengths.maximum, experiment.evaluation.stride
    longest = experiment.test_length if longest is None else longest
    check_longest(experiment, longest)
    # Multiples of the golden ratio, here two Fibonacci numbers, are spread evenly modulo 1.
    windows = range(1, -(-longest // every) + 1)
    inside = (every * k - 10946 * k % 17711 * every // 17711 for k in windows)
    always = {1, seen, seen + 1, experiment.test_length, longest}
    return sorted(n for n in {*always, *inside} if n <= longest)


def longest_possible(experiment: Experiment) -> int:
    """Returns the longest length that has a position for every token.

    >>> longest_possible(Experiment(task="duplicate_string"))  # three tokens for every one of input
    682
    """
    setup = resolve(experiment)
    if setup.scheme.largest is None:
        return MAX_TEST_LENGTH
    lengths = range(1, setup.scheme.largest + 1)

    def tokens(length: int) -> int:
        return int(setup.layout.total_length(length))

    return bisect.bisect_right(lengths, setup.scheme.largest, key=tokens)


def check_longest(experiment: Experiment, longest: int) -> None:
    """Raises `UserError` if a model cannot be tested at this length.

    Beyond M the limit is L for randomized positions. A model whose number of parameters depends on
    M, as with a learned table of ordinal positions, cannot be tested beyond M.
    """
    check_count("max_length", longest, MAX_TEST_LENGTH)
    planned = experiment.test_length
    if longest <= planned:
        return
    setup, limit = resolve(experiment), longest_possible(experiment)
    if longest > limit:
        raise UserError(
            f"max_length={longest} of {experiment.task} needs more positions than the run's "
            f"L={experiment.positions.maximum}; pass {limit} or less, or train with a larger "
            "--positions.maximum."
        )
    longer = resolve(dataclasses.replace(experiment, test_length=longest))
    if longer.parameter_count != setup.parameter_count:
        raise UserError(
            f"max_length={longest} is beyond M={planned}, and {experiment.encoding} has parameters "
            f"for positions up to M only; pass {planned} or less."
        )


def sizes(experiment: Experiment, longest: int = 0) -> list[int]:
    """Returns the static lengths that tested lengths are padded to: finer where they are short.

    Args:
        experiment: What is tested.
        longest: Go on beyond M until this length has a size.

    >>> sizes(Experiment(test_length=100), longest=300)
    [40, 60, 90, 100, 150, 225, 325]
    """
    steps, size, bound = [], float(experiment.lengths.maximum), experiment.test_length
    while size < bound:
        steps.append(int(size))
        size = min(size * 1.5, size + 100)
    steps.append(bound)
    while steps[-1] < longest:
        next_size = max(steps[-1] + 1, int(min(steps[-1] * 1.5, steps[-1] + 100)))
        steps.append(min(next_size, longest_possible(experiment)))
    return steps


def memory_pieces(experiment: Experiment, size: int, parts: int = 1) -> int:
    """Returns in how many pieces a part of a draw is computed: each piece's logits fit the budget.

    Args:
        experiment: What is tested.
        size: The length that sequences are padded to.
        parts: Into how many parts the examples of a draw are cut.
    """
    time = int(resolve(experiment).layout.total_length(size))
    example = 4 * experiment.model.heads * time * time
    return -(-part_size(experiment, parts) // max(1, MAX_LOGIT_BYTES // example))


def generation_pieces(experiment: Experiment, size: int, examples: int) -> int:
    """Returns in how many equal pieces the answers of examples are generated.

    The keys and values of a piece, and the logits of its prompts, fit into the budget.

    Args:
        experiment: What is tested.
        size: The length that sequences are padded to.
        examples: How many examples there are.
    """
    layout, model = resolve(experiment).layout, experiment.model
    prompt, total = int(layout.prompt_length(size)), int(layout.total_length(size))
    example = 4 * model.heads * prompt**2 + 8 * model.layers * model.dim * total
    pieces = -(-examples // max(1, MAX_LOGIT_BYTES // example))
    return next(p for p in range(pieces, examples + 1) if examples % p == 0)


def draw_size(experiment: Experiment) -> int:
    """Returns the number of examples that share a draw of positions; the last one has the rest."""
    return -(-experiment.evaluation.batch // experiment.evaluation.draw_count)


def part_size(experiment: Experiment, parts: int) -> int:
    """Returns the number of examples in each of the parts of a draw, the last one filled up."""
    return -(-draw_size(experiment) // parts)


class Evaluator:
    """Tests models of one experiment, of any seed and learning rate.

    Args:
        experiment: What was trained, and how it is tested.
        compiling: Entered while a program is compiled.
    """

    def __init__(self, experiment: Experiment, compiling: Compiling = silent) -> None:
        self.experiment, self.compiling = experiment, compiling
        self.programs: dict[tuple[int, int], jax.stages.Wrapped] = {}
        self.lock = threading.Lock()
        """Held while a program is compiled."""
        self.parts = 1
        """Into how many parts the examples of a draw are cut, so that each fits into memory."""

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
            if self.parts >= draw_size(self.experiment):
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

    def prepare(
        self, parameters: PyTree, length: int, compiling: Compiling = silent
    ) -> jax.stages.Wrapped:
        """Returns the program of a length; compiles it if it is new. Another thread may call this.

        Args:
            parameters: The parameters, or their shapes.
            length: The length.
            compiling: Entered while the program is compiled, in any thread.
        """
        experiment = self.experiment
        size = next(bound for bound in sizes(experiment, length) if bound >= length)
        which = size, self.parts
        if which not in self.programs:
            # Lengths beyond M have programs of their own: the others stay bit for bit as they are.
            longer = dataclasses.replace(experiment, test_length=max(experiment.test_length, size))
            program = partial(count, longer, size, parts=self.parts)
            jitted = jax.jit(program, compiler_options=compiler_options())
            number = jax.ShapeDtypeStruct((), jnp.int32)
            with compiling(f"for lengths up to {size} (once; cached)"), self.lock:
                if which not in self.programs:
                    compile_once(jitted, parameters, number, number, number)
                    self.programs[which] = jitted
        return self.programs[which]

    def _measure(self, parameters: PyTree, length: int) -> Accuracy:
        experiment = self.experiment
        program = self.prepare(parameters, length, self.compiling)
        batch, per_draw = experiment.evaluation.batch, draw_size(experiment)
        found = []
        for draw in range(-(-batch // per_draw)):
            firsts = range(0, per_draw, part_size(experiment, self.parts))
            where = [jnp.asarray([length, draw, first], jnp.int32) for first in firsts]
            parts = [program(parameters, *place) for place in where]
            found.append(jax.tree.map(lambda *values: sum(map(int, values)), *parts))
        return summarize(length, found, batch)


def count(
    experiment: Experiment,
    size: int,
    parameters: PyTree,
    length: Int[Array, ""],
    draw: Length = 0,
    first: Length = 0,
    *,
    parts: int = 1,
) -> Counts:
    """Counts the right tokens, all that count, and the right sequences of a part of a draw.

    A decoder generates its answers; it never reads the right ones, except for `forced`.

    Args:
        experiment: What is tested.
        size: The static length that sequences are padded to.
        parameters: The model's.
        length: The length n, at most `size`.
        draw: The number of the draw of positions.
        first: The first example of the part, counted within the draw.
        parts: How many parts there are.
    """
    setup = resolve(experiment)
    static, options = setup.skeleton[1], experiment.evaluation
    pieces, part = memory_pieces(experiment, size, parts), part_size(experiment, parts)
    # Rounded up to whole pieces; the surplus examples are not counted.
    examples = -(-part // pieces) * pieces

    key = jax.random.fold_in(random_stream("tests", options.seed), length)
    to_batch, to_positions = jax.random.split(jax.random.fold_in(key, draw))
    batch, positions = draw_batch(setup, to_batch, to_positions, length, examples, size, first)
    sequences = assemble(setup.layout, batch, length)
    model: Encoder = eqx.combine(parameters, static)
    logits = model(
        sequences.tokens,
        positions,
        mask=sequences.mask,
        outputs=sequences.outputs,
        pieces=pieces,
    )
    # The last draw may have fewer examples than the others, the last part fewer than its size.
    per_draw = draw_size(experiment)
    left = jnp.minimum(per_draw, options.batch - draw * per_draw) - first
    asked = jnp.arange(examples) < jnp.minimum(part, left)
    counted = batch.counted & asked[:, None]
    right = right_answers(logits, batch) & asked[:, None]
    forced = None
    if setup.layout.autoregressive:
        forced = jnp.sum(right)
        prompt = sequences.tokens[:, : int(setup.layout.prompt_length(size))]
        count = generation_pieces(experiment, size, examples)
        logits = generate_in_pieces(model, setup.layout, prompt, positions, length, count)
        right = right_generated(logits, batch, setup.task.terminator) & asked[:, None]
    whole = jnp.all(right | ~counted, axis=-1) & asked
    return Counts(jnp.sum(right), jnp.sum(counted), jnp.sum(whole), forced)

"""Evaluation: the accuracy at every length, also far beyond the training lengths.

The examples of a length are divided among its draws of positions (randomized at test time too).
Lengths are padded to a few static sizes; a batch is computed in pieces that bound the memory. Where
even that is too much memory, it is halved until it fits, one part after the other.
"""

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
import numpy as np
from jaxtyping import Array, Int, PyTree

from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.nn.model import Encoder
from randpos.numerics import compiler_options, random_stream
from randpos.setup import resolve
from randpos.store.result import Accuracy
from randpos.tasks.base import Length
from randpos.training.batch import assemble, draw_batch, right_answers
from randpos.training.compilation import Compiling, compile_once, silent
from randpos.training.generation import generate_in_pieces, right_generated
from randpos.training.tested_lengths import sizes

MAX_LOGIT_BYTES = 2**25
"""Bytes that one piece's attention logits may take in memory."""
CACHED_LOGIT_BYTES = 2**21
"""Bytes that they take on a CPU, unless one example has more: near its cache, tests of length 500
take a third to a half of the time (docs/performance.md)."""


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
    lowest: Int[Array, "output"] | Int[np.ndarray, "output"] | None = None
    """The smallest class among the answers at each place; at places that do not count, more than
    any class."""
    highest: Int[Array, "output"] | Int[np.ndarray, "output"] | None = None
    """The largest class among the answers at each place; -1 at places that do not count."""

    @property
    def constant(self) -> bool | None:
        """Whether all examples have the same answer; None if the answers are not known."""
        if self.lowest is None or self.highest is None:
            return None
        return bool(np.all(np.asarray(self.highest) <= np.asarray(self.lowest)))


def join_parts(parts: Sequence[Counts]) -> Counts:
    """Returns the counts of a draw from those of its parts."""
    right, counted, whole = (sum(map(int, x)) for x in zip(*(p[:3] for p in parts), strict=True))
    forced = [int(part.forced) for part in parts if part.forced is not None]
    lowest = [part.lowest for part in parts if part.lowest is not None]
    highest = [part.highest for part in parts if part.highest is not None]
    return Counts(
        right,
        counted,
        whole,
        forced=sum(forced) if forced else None,
        lowest=np.min(lowest, axis=0) if lowest else None,
        highest=np.max(highest, axis=0) if highest else None,
    )


def summarize(length: int, draws: Sequence[Counts], examples: int) -> Accuracy:
    """Returns the accuracy at a length from the counts of its draws.

    The standard error is that of a ratio of sums over independent draws.

    >>> summarize(7, [Counts(6, 10, 0), Counts(8, 10, 1)], examples=20)
    Accuracy(length=7, accuracy=0.7, whole=0.05, error=0.1, forced=None, constant=None)
    """
    right, counted, whole = (sum(values) for values in zip(*(d[:3] for d in draws), strict=True))
    forced = [d.forced for d in draws if d.forced is not None]
    accuracy, error = right / counted, None
    if len(draws) > 1:
        squares = sum((d.right - accuracy * d.counted) ** 2 for d in draws)
        error = math.sqrt(squares * len(draws) / (len(draws) - 1)) / counted
    of_forced = float(sum(forced) / counted) if forced else None
    constant = [d.constant for d in draws]
    known = None not in constant and len(draws) < examples  # an example alone has but one answer
    return Accuracy(
        length, accuracy, whole / examples, error, of_forced, all(constant) if known else None
    )


def memory_pieces(experiment: Experiment, size: int, parts: int = 1) -> int:
    """Returns in how many pieces a part of a draw is computed: each piece's logits fit the budget.

    A CPU is fastest with small pieces, whose logits stay near its cache.

    Args:
        experiment: What is tested.
        size: The length that sequences are padded to.
        parts: Into how many parts the examples of a draw are cut.
    """
    time = int(resolve(experiment).layout.total_length(size))
    example = 4 * experiment.model.heads * time * time
    budget = CACHED_LOGIT_BYTES if jax.default_backend() == "cpu" else MAX_LOGIT_BYTES
    return -(-part_size(experiment, parts) // max(1, budget // example))


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
    """Returns how many examples share a draw of positions; later draws may have one less."""
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
            with compiling(f"tests of lengths up to {size} (once; cached)"), self.lock:
                if which not in self.programs:
                    compile_once(jitted, parameters, number, number, number)
                    self.programs[which] = jitted
        return self.programs[which]

    def _measure(self, parameters: PyTree, length: int) -> Accuracy:
        experiment = self.experiment
        program = self.prepare(parameters, length, self.compiling)
        batch, per_draw = experiment.evaluation.batch, draw_size(experiment)
        found = []
        for draw in range(experiment.evaluation.draw_count):
            firsts = range(0, per_draw, part_size(experiment, self.parts))
            where = [jnp.asarray([length, draw, first], jnp.int32) for first in firsts]
            parts = [program(parameters, *place) for place in where]
            found.append(join_parts(parts))
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

    It also returns the range of the answers at each place, which tells constant ones.

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
    (shapes, static), options = setup.skeleton, experiment.evaluation
    # Beyond M, plain encodings have the same arrays in a model that names another longest sequence.
    parameters = jax.tree.unflatten(jax.tree.structure(shapes), jax.tree.leaves(parameters))
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
    # Draws differ by one example if they must; the last part may have fewer than its size.
    fewest, rest = divmod(options.batch, options.draw_count)
    left = fewest + (draw < rest) - first
    wanted = jnp.arange(examples) < jnp.minimum(part, left)
    counted = batch.counted & wanted[:, None]
    right = right_answers(logits, batch) & wanted[:, None]
    forced = None
    if setup.layout.autoregressive:
        forced = jnp.sum(right)
        prompt = sequences.tokens[:, : int(setup.layout.prompt_length(size))]
        count = generation_pieces(experiment, size, examples)
        logits = generate_in_pieces(model, setup.layout, prompt, positions, length, count)
        right = right_generated(logits, batch, setup.task.terminator) & wanted[:, None]
    whole = jnp.all(right | ~counted, axis=-1) & wanted
    answers, none = jnp.argmax(logits, axis=-1), logits.shape[-1]
    lowest = jnp.min(jnp.where(counted, answers, none), axis=0)
    highest = jnp.max(jnp.where(counted, answers, -1), axis=0)
    return Counts(jnp.sum(right), jnp.sum(counted), jnp.sum(whole), forced, lowest, highest)

"""The small encoders that most tests ask, and every way to place their tokens.

JAX compiles anew for every new shape, which costs more than the tests themselves: so all use the
same few shapes, and mostly call models eagerly.
"""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from randpos import (
    ENCODINGS,
    Architecture,
    Combination,
    Encoder,
    Positions,
    combinations,
)
from randpos.settings import AttentionScale, Draw, Reading

BATCH, TIME, BUFFER = 2, 5, 8
VOCABULARY, CLASSES, LARGEST = 9, 3, 2048
PAD = VOCABULARY - 1
KEY = jax.random.key(7)
NAMES = list(ENCODINGS)


@functools.cache
def encoder(
    name: str,
    *,
    causal: bool = False,
    layers: int = 2,
    largest: int = LARGEST,
    attention_scale: AttentionScale = "constant",
    one_sided: bool = False,
    window: int = 0,
) -> Encoder:
    """An encoder all of whose parameters are random: matrices around 0, vectors around 1."""
    sizes = Architecture(layers, 2, 8, 12, 0.1, causal, attention_scale, window)

    def build() -> Encoder:
        shape = sizes.shape(largest)._replace(one_sided=one_sided)
        encoding = ENCODINGS[name](shape, key=KEY)
        return Encoder(VOCABULARY, CLASSES, encoding, sizes, key=KEY)

    rng = np.random.default_rng(sum(map(ord, name)))

    def fill(x: Any) -> Any:
        centre = 1.0 if x.ndim == 1 else 0.0
        return jnp.asarray(rng.normal(centre, 0.4, x.shape), x.dtype)

    return jax.tree.map(fill, eqx.filter_eval_shape(build))


def doubles(model: Encoder) -> Any:
    """The same model with float64 NumPy parameters, as the oracles read it."""
    return jax.tree.map(lambda x: np.asarray(x, np.float64) if eqx.is_array(x) else x, model)


@functools.cache
def tokens(time: int = TIME) -> jax.Array:
    """A batch without padding."""
    rng = np.random.default_rng(3)
    # The first caller may be traced, and a tracer must not stay in the cache.
    with jax.ensure_compile_time_eval():
        return jnp.asarray(rng.integers(0, PAD, (BATCH, BUFFER))[:, :time])


def padded(time: int = TIME, pad: int = PAD) -> jax.Array:
    """The same batch in a larger buffer."""
    return jnp.pad(tokens(time), ((0, 0), (0, BUFFER - time)), constant_values=pad)


def prefix(positions: Positions, time: int) -> Positions:
    """The first tokens alone."""
    return Positions(positions.query[:time], positions.key[:time], positions.offsets[:time, :time])


class Variant(NamedTuple):
    """A combination, with one of the readings and draws that apply to it."""

    combination: Combination
    reading: Reading
    draw: Draw

    def __str__(self) -> str:
        extra = [x for x in (self.reading, self.draw) if x not in ("positions", "per_batch")]
        return "-".join([self.combination.name, *extra])

    @property
    def name(self) -> str:
        """The encoding's."""
        return self.combination.encoding.name

    def place(self, time: int, size: int | None = None) -> Positions | tuple[Positions, ...]:
        """Draws positions for the small encoder."""
        scheme = self.combination.scheme(maximum=LARGEST, reading=self.reading, draw=self.draw)
        return scheme.sample_batch(KEY, time, size or time, layers=2, examples=BATCH)


def variants() -> list[Variant]:
    """Every combination with every reading and draw that applies to it."""
    every = []
    for combination in combinations().values():
        encoding, randomized = combination.encoding, bool(combination.prefix)
        readings: tuple[Reading, ...] = encoding.readings if randomized else ("positions",)
        draws: tuple[Draw, ...] = ("per_batch",)
        if randomized and encoding.layerwise:
            draws = ("per_batch", "per_layer")
        every += [Variant(combination, reading, draw) for reading in readings for draw in draws]
    return every


VARIANTS = variants()

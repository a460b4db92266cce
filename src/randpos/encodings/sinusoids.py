"""Sinusoids of integer positions, exact to float32 for every int32 (equations 1 and 2).

In float32 the angle of position 8192 is off by 5e-4 for most wavelengths. Positions are integers,
so they are split into digits of base 256 whose sines are tabulated in float64, and joined by
sin(a + b) = sin a cos b + cos a sin b. That is also cheaper than evaluating sines.
"""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer

from randpos.positions import int32_positions

BASE = 256
DIGITS = 4
"""256^4 covers every int32."""


def frequencies(count: int) -> np.ndarray:
    """Returns 10000^(-i / count) for i = 0..count-1, the paper's wavelengths."""
    return 10000.0 ** (-np.arange(count) / count)


def sin_cos(
    positions: Integer[Array, "*shape"], count: int, largest: int | None = None
) -> tuple[Float[Array, "*shape {count}"], Float[Array, "*shape {count}"]]:
    """Returns sine and cosine of each position at each of `count` frequencies.

    Args:
        positions: Integers of either sign, of any type.
        count: Number of frequencies.
        largest: A bound on their size, if it is known: fewer digits are then looked up. It does
            not change the result.
    """
    digits = DIGITS if largest is None else max(1, -(-int(largest).bit_length() // 8))
    positions = int32_positions(positions)
    rest = jnp.abs(positions)
    sin, cos = _look_up(rest % BASE, count, 0)
    for digit in range(1, digits):
        rest = rest // BASE
        sin_a, cos_a = _look_up(rest % BASE, count, digit)
        sin, cos = sin_a * cos + cos_a * sin, cos_a * cos - sin_a * sin
    return jnp.where(positions < 0, -1.0, 1.0)[..., None] * sin, cos


def _look_up(values: Int[Array, "*shape"], count: int, digit: int) -> list[Array]:
    return jnp.split(jnp.asarray(_table(count, digit))[values], 2, axis=-1)


@lru_cache(maxsize=64)
def _table(count: int, digit: int) -> np.ndarray:
    """Tabulates sine and cosine of one digit's 256 values at every frequency.

    The frequencies are split so that the larger part of each angle is exact in float64: rounding
    the angle of position 2^31 would be off by 2e-7.
    """
    values = np.arange(BASE)[:, None] * float(BASE) ** digit
    high = np.ldexp(np.rint(np.ldexp(frequencies(count), 40)), -40)
    large, small = values * high, values * (frequencies(count) - high)
    sin = np.sin(large) * np.cos(small) + np.cos(large) * np.sin(small)
    cos = np.cos(large) * np.cos(small) - np.sin(large) * np.sin(small)
    return np.concatenate([sin, cos], axis=1).astype(np.float32)


def sinusoid(
    positions: Integer[Array, "*shape"], dim: int, largest: int | None = None
) -> Float[Array, "*shape {dim}"]:
    """Returns the encoding of equations 1 and 2, all sines before all cosines."""
    return jnp.concatenate(sin_cos(positions, dim // 2, largest), axis=-1)

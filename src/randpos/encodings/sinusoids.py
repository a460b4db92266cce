"""Sinusoids of integer positions, exact to float32 at any distance (equations 1 and 2).

In float32 the angle of position 8192 is off by 5e-4 for most wavelengths. Positions are integers,
so they are split into a high and a low digit whose sines are tabulated in float64, and joined by
sin(a + b) = sin a cos b + cos a sin b. That is also cheaper than evaluating sines.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

BASE = 256


def frequencies(count: int) -> np.ndarray:
    """Returns 10000^(-i / count) for i = 0..count-1, the paper's wavelengths."""
    return 10000.0 ** (-np.arange(count) / count)


def sin_cos(
    positions: Int[Array, "*shape"], count: int
) -> tuple[Float[Array, "*shape {count}"], Float[Array, "*shape {count}"]]:
    """Returns sine and cosine of each position at each of `count` frequencies.

    Args:
        positions: Integers of either sign, up to 65,535 in size.
        count: Number of frequencies.
    """
    digits = np.arange(BASE)[:, None] * frequencies(count)
    low = np.concatenate([np.sin(digits), np.cos(digits)], axis=1).astype(np.float32)
    digits = digits * BASE
    high = np.concatenate([np.sin(digits), np.cos(digits)], axis=1).astype(np.float32)
    size = jnp.abs(positions)
    sin_a, cos_a = jnp.split(jnp.asarray(high)[size // BASE], 2, axis=-1)
    sin_b, cos_b = jnp.split(jnp.asarray(low)[size % BASE], 2, axis=-1)
    sign = jnp.where(positions < 0, -1.0, 1.0)[..., None]
    return sign * (sin_a * cos_b + cos_a * sin_b), cos_a * cos_b - sin_a * sin_b


def sinusoid(positions: Int[Array, "*shape"], dim: int) -> Float[Array, "*shape {dim}"]:
    """Returns the encoding of equations 1 and 2, all sines before all cosines."""
    return jnp.concatenate(sin_cos(positions, dim // 2), axis=-1)

"""Dropout from a counter: a hash per element instead of a full random number generator.

Threefry bits for every activation would cost as much as the attention. A dropout mask needs only
to look independent between elements, layers and steps. So each token hashes its example and place
with the key in three rounds. One more round of multiply and shift gives the bits of each channel.
A token's mask depends on nothing else: not on padding, nor on the pieces a batch is computed in.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

GOLDEN = 0x9E3779B1
"""2^32 divided by the golden ratio, as an odd number: its multiples spread evenly."""


def mix(bits: UInt32[Array, "*shape"], multiplier: int) -> UInt32[Array, "*shape"]:
    """One round of multiply and shift, a bijection of 32 bits."""
    bits = (bits ^ (bits >> 16)) * jnp.uint32(multiplier)
    return bits ^ (bits >> 15)


def token_bits(
    key: Key[Array, ""], shape: tuple[int, ...], first: int | Int[Array, ""] = 0
) -> UInt32[Array, "batch time"]:
    """Returns 32 bits per token, a function of the key, the example's number and the place."""
    high, low = jax.random.key_data(key).astype(jnp.uint32)[:2]
    example = jnp.uint32(first) + jax.lax.broadcasted_iota(jnp.uint32, shape, 0)
    place = jax.lax.broadcasted_iota(jnp.uint32, shape, 1)
    bits = mix(example ^ high, 0x7FEB352D) + low
    return mix(mix(bits ^ (place * jnp.uint32(GOLDEN)), 0x846CA68B) + high, 0x7FEB352D)


def keep_mask(
    key: Key[Array, ""],
    shape: tuple[int, ...],
    rate: float,
    first: int | Int[Array, ""] = 0,
) -> Bool[Array, "batch time dim"]:
    """Marks the elements that dropout keeps.

    Args:
        key: Source of randomness.
        shape: The shape of the activations.
        rate: Probability of zeroing.
        first: The number of the first example, where the batch is a piece of a larger one.
    """
    channel = jax.lax.broadcasted_iota(jnp.uint32, shape, 2) * jnp.uint32(GOLDEN)
    bits = mix(token_bits(key, shape[:2], first)[..., None] + channel, 0x846CA68B)
    return bits >= jnp.uint32(min(round(rate * 2**32), 2**32 - 1))


def drop(
    x: Float[Array, "batch time dim"], rate: float, kept: Bool[Array, "batch time dim"] | None
) -> Float[Array, "batch time dim"]:
    """Zeroes the elements that are not kept and scales the others up; does nothing without mask."""
    return x if kept is None else jnp.where(kept, x * (1.0 / (1.0 - rate)), 0.0)


def dropout(
    x: Float[Array, "batch time dim"],
    rate: float,
    key: Key[Array, ""] | None,
    first: int | Int[Array, ""] = 0,
) -> Float[Array, "batch time dim"]:
    """Zeroes each element with probability `rate` and scales the others up.

    Args:
        x: Activations.
        rate: Probability of zeroing.
        key: Source of randomness; without one nothing is dropped.
        first: The number of the first example, where `x` is a piece of a larger batch.
    """
    if key is None or rate == 0.0:
        return x
    return drop(x, rate, keep_mask(key, x.shape, rate, first))

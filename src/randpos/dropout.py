"""Dropout from a counter: one hash per element instead of a full random number generator.

Threefry bits for every activation would cost as much as the attention. A dropout mask needs only
to look independent between elements, steps and layers, so each element hashes its own index with
two words of the key: two rounds of multiply and shift, each a bijection of 32 bits. The index
counts the time axis first, so that a sequence's mask does not depend on the padding behind it.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, UInt32


def hash_bits(key: Key[Array, ""], index: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """Returns 32 well-mixed bits per index, different for every key."""
    words = jax.random.key_data(key).astype(jnp.uint32)
    bits = index ^ words[..., 0]
    for multiplier, word in ((0x7FEB352D, words[..., 1]), (0x846CA68B, words[..., 0])):
        bits = (bits ^ (bits >> 16)) * jnp.uint32(multiplier)
        bits = (bits ^ (bits >> 15)) + word
    bits = (bits ^ (bits >> 16)) * jnp.uint32(0x9E3779B1)
    return bits ^ (bits >> 15)


def dropout(
    x: Float[Array, "batch time dim"], rate: float, key: Key[Array, ""] | None
) -> Float[Array, "batch time dim"]:
    """Zeroes each element with probability `rate` and scales the others; no key, no dropout."""
    if key is None or rate == 0.0:
        return x
    batch, time, dim = (jax.lax.broadcasted_iota(jnp.uint32, x.shape, axis) for axis in range(3))
    index = (time * x.shape[0] + batch) * x.shape[2] + dim
    kept = hash_bits(key, index) >= jnp.uint32(round(rate * 2**32))
    return jnp.where(kept, x * (1.0 / (1.0 - rate)), 0.0)

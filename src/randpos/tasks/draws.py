"""Random draws whose first values do not depend on the number of values drawn.

An example must not depend on the buffers that it is sampled into. Value i of a threefry draw is a
function of the key and of i alone (JAX's `jax_threefry_partitionable`, its default), so a longer
draw continues a shorter one. (A key per place would have the same
effect at three times the cost.) A task draws all its words at once, the single choices first: each
call costs compile time.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, UInt32

from randpos.tasks.base import Length

WORD = 32


def words(key: Key[Array, ""], count: int) -> UInt32[Array, " {count}"]:
    """Draws uniform 32-bit words.

    >>> key = jax.random.key(0)
    >>> bool((words(key, 3) == words(key, 1000)[:3]).all())
    True
    """
    return jax.random.bits(key, (count,), jnp.uint32)


def packed(count: int) -> int:
    """Returns the number of words that `count` bits are unpacked from.

    >>> packed(32), packed(33)
    (1, 2)
    """
    return -(-count // WORD)


def unpack(drawn: UInt32[Array, " words"], count: int) -> Int[Array, " {count}"]:
    """Spells words as bits, the lowest bit of the first word first.

    >>> unpack(jnp.array([6], jnp.uint32), 5)
    Array([0, 1, 1, 0, 0], dtype=int32)
    """
    spread = drawn[:, None] >> jnp.arange(WORD, dtype=jnp.uint32)
    return (spread & 1).astype(jnp.int32).reshape(-1)[:count]


def below(
    word: UInt32[Array, "*shape"], bound: int | Int[Array, "*#shape"]
) -> Int[Array, "*shape"]:
    """Turns uniform words into uniform integers in 0..bound−1, for a `bound` up to 2^16.

    It is ⌊word · bound / 2^32⌋, in halves so that nothing overflows: each integer has its
    probability to within 2^-32, and there is no division, which would be slow in a batch.

    >>> below(jnp.array([0, 2**31, 2**32 - 1], jnp.uint32), 5)
    Array([0, 2, 4], dtype=int32)
    """
    factor = jnp.asarray(bound).astype(jnp.uint32)
    low = ((word & 0xFFFF) * factor) >> 16
    return (((word >> 16) * factor + low) >> 16).astype(jnp.int32)


def inside(length: Length, count: int) -> Bool[Array, " {count}"]:
    """Marks the first `length` of `count` places.

    >>> inside(2, 4)
    Array([ True,  True, False, False], dtype=bool)
    """
    return jnp.arange(count) < length


def bit_string(key: Key[Array, ""], length: Length, count: int) -> Int[Array, " {count}"]:
    """Draws `length` uniform bits into `count` places; the rest is zero."""
    return jnp.where(inside(length, count), unpack(words(key, packed(count)), count), 0)


def positive(drawn: UInt32[Array, " words"], length: Length, count: int) -> Int[Array, " {count}"]:
    """Turns uniform words into the bits of a uniform integer in 1..2^length − 1.

    Uniform bits that come out all zero, which short numbers often do, are replaced by a second,
    positive draw. Of that one only the low 31 bits are free: a longer number needs it once in 2^32.

    >>> positive(jnp.array([1, 4], jnp.uint32), 3, 5), positive(jnp.array([1, 0], jnp.uint32), 3, 5)
    (Array([0, 0, 1, 0, 0], dtype=int32), Array([0, 1, 0, 0, 0], dtype=int32))
    """
    first = jnp.where(inside(length, count), unpack(drawn[1:], count), 0)
    largest = (jnp.uint32(1) << jnp.minimum(length, 31).astype(jnp.uint32)) - 1
    second = unpack((1 + drawn[0] % largest)[None], min(count, WORD))
    second = jnp.pad(second, (0, count - second.shape[0]))
    return jnp.where(first.any(), first, second)

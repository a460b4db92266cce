"""Inputs and outputs shared by binary addition and multiplication.

Numbers are little-endian: the lowest bit comes first.
"""

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Length
from randpos.tasks.draws import below, inside, packed, positive, words

SEPARATOR = 2
END = 2


def draw(key: Key[Array, ""], length: Length, maximum: int) -> Int[Array, " {maximum}"]:
    """Draws "a separator b": |a| uniform in 1..n−2 and |b| = n−1−|a|, both values positive.

    Below n = 3 there is no room for two numbers: one is drawn, uniform in 0..2^n − 2.
    """
    drawn = words(key, 1 + 2 * (1 + packed(maximum)))
    place = jnp.arange(maximum)
    size = 1 + below(drawn[0], jnp.maximum(length - 2, 1))
    # Words in turn for a and for b: so neither depends on the number of words.
    first = positive(drawn[1::2], size, maximum)
    second = positive(drawn[2::2], jnp.maximum(length - 1 - size, 1), maximum)
    pair = jnp.where(place < size, first, second[jnp.maximum(place - size - 1, 0)])
    pair = jnp.where(place == size, SEPARATOR, pair)
    alone = below(drawn[0], (1 << jnp.minimum(length, 2)) - 1) >> jnp.minimum(place, 2)
    inputs = jnp.where(length > 2, pair, alone & 1)
    return jnp.where(inside(length, maximum), inputs, 0)


def parts(inputs: Int[Array, " n"]) -> tuple[Int[Array, " n"], Int[Array, " n"]]:
    """Returns the two numbers of an input as bits; a lone number goes with zero.

    >>> parts(jnp.array([0, 1, SEPARATOR, 1, 1, 0]))
    (Array([0, 1, 0, 0, 0, 0], dtype=int32), Array([1, 1, 0, 0, 0, 0], dtype=int32))
    """
    count = inputs.shape[0]
    place = jnp.arange(count)
    size = jnp.where((inputs == SEPARATOR).any(), jnp.argmax(inputs == SEPARATOR), count)
    source = place + size + 1
    second = jnp.where(source < count, inputs[jnp.minimum(source, count - 1)], 0)
    return jnp.where(place < size, inputs, 0), second


def ended(bits: Int[Array, " bits"]) -> Int[Array, " bits"]:
    """Marks the end of a number after its highest 1; zero is written with one 0.

    >>> ended(jnp.array([0, 1, 0, 0]))
    Array([0, 1, 2, 0], dtype=int32)
    >>> ended(jnp.array([0, 0, 0, 0]))
    Array([0, 2, 0, 0], dtype=int32)
    """
    place = jnp.arange(bits.shape[0])
    end = jnp.max(place * bits) + 1
    return jnp.where(place == end, END, bits)

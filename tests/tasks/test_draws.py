"""Words to integers, bits and positive numbers, against Python's integers."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from randpos.tasks import draws

word = st.integers(0, 2**32 - 1)
many = settings(deadline=None, max_examples=100)

below = jax.jit(draws.below)


def as_words(values: list[int]) -> jax.Array:
    return jnp.array(values, jnp.uint32)


@many
@given(word, st.integers(1, 2**16))
def test_below_is_the_high_half_of_the_product(value, bound):
    assert int(below(jnp.uint32(value), jnp.int32(bound))) == (value * bound) >> 32


@many
@given(st.lists(word, min_size=3, max_size=3))
def test_unpack_spells_the_lowest_bit_first(values):
    spelled = np.asarray(draws.unpack(as_words(values), 90)).tolist()
    number = sum(value << (32 * i) for i, value in enumerate(values))
    assert spelled == [(number >> i) & 1 for i in range(90)]


@functools.partial(jax.jit, static_argnums=2)
def positive(words: jax.Array, length: int, count: int) -> jax.Array:
    return draws.positive(words, length, count)


@many
@given(st.lists(word | st.just(0), min_size=4, max_size=4), st.integers(1, 80))
def test_positive_takes_its_bits_or_else_the_spare_word(values, length):
    spare, *rest = values
    number = sum(value << (32 * i) for i, value in enumerate(rest)) % 2**length
    number = number or 1 + spare % (2 ** min(length, 31) - 1)
    bits = np.asarray(positive(as_words(values), length, 80)).tolist()
    assert bits == [(number >> i) & 1 for i in range(80)]


def test_positive_reaches_every_short_number_equally_often():
    # The spare word alone decides when the bits are zero, so it must be even over 1..2^n − 1.
    spares = np.arange(0, 2**32, 2**20, dtype=np.uint32) + 12345
    for length in (1, 2, 3, 4):
        words = jnp.stack([jnp.asarray(spares), jnp.zeros(len(spares), jnp.uint32)], axis=1)
        bits = jax.vmap(lambda word, n=length: draws.positive(word, n, 8))(words)
        values = np.asarray(bits) @ 2 ** np.arange(8)
        counts = np.bincount(values, minlength=2**length)
        assert counts[0] == 0
        assert np.ptp(counts[1:]) <= 1

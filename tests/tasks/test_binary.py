"""Long arithmetic against Python's integers."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from randpos.tasks import binary

many = settings(deadline=None, max_examples=100)

PLACES = 100
number = st.integers(0, 2**PLACES - 1)
total, product, square_root = map(jax.jit, (binary.total, binary.product, binary.square_root))
carried = jax.jit(binary.carried, static_argnums=1)
as_bytes = jax.jit(binary.as_bytes)


def digits(value: int, base: int, count: int) -> jax.Array:
    return jnp.array([value // base**i % base for i in range(count)], jnp.int32)


def value(array: jax.Array, base: int = 2) -> int:
    return sum(int(digit) * base**i for i, digit in enumerate(np.asarray(array).tolist()))


@pytest.mark.parametrize("base", [2, 256, 2**30])
@many
@given(data=st.data())
def test_carried_keeps_the_value_and_leaves_digits(base, data):
    # Mostly columns that hand carries on, or just do not: the interesting ones.
    edges = st.sampled_from([0, base - 2, base - 1, base, 2 * base - 2])
    columns = data.draw(st.lists(edges | st.integers(0, 2 * base - 2), min_size=12, max_size=12))
    array = carried(jnp.array([*columns, 0], jnp.int32), base)
    assert all(0 <= digit < base for digit in np.asarray(array).tolist())
    assert value(array, base) == sum(column * base**i for i, column in enumerate(columns))


@many
@given(st.lists(st.integers(0, 2**31 - 1) | st.just(0xFFFFFF), min_size=12, max_size=12))
def test_any_columns_resolve_to_bytes(columns):
    array = as_bytes(jnp.array([*columns, 0, 0, 0, 0], jnp.int32))
    assert all(0 <= digit < 256 for digit in np.asarray(array).tolist())
    assert value(array, 256) == sum(column << (8 * i) for i, column in enumerate(columns))


@many
@given(number, number)
@example(2**PLACES - 1, 1)
@example(2**PLACES - 1, 2**PLACES - 1)
def test_sums_and_products_are_exact(first, second):
    arrays = digits(first, 2, PLACES), digits(second, 2, PLACES)
    assert value(total(*arrays)) == (first + second) % 2**PLACES
    assert value(product(*arrays)) == first * second % 2**PLACES


def test_the_largest_product_of_a_thousand_bits_does_not_overflow():
    ones = jnp.ones(1000, jnp.int32)
    assert value(product(ones, ones)) == (2**1000 - 1) ** 2 % 2**1000


square = st.integers(0, 2**PLACES - 1).map(lambda root: root**2)


@many
@given(st.integers(0, 4**PLACES - 1) | square | square.map(lambda x: max(x - 1, 0)))
@example(4**PLACES - 1)
@example((2**PLACES - 1) ** 2 - 1)
def test_square_roots_are_exact(number):
    root = square_root(digits(number, 4, PLACES)[::-1])
    assert value(root[::-1]) == math.isqrt(number)


@pytest.mark.parametrize("width", [8, 30])
def test_pack_gathers_bits_and_spell_undoes_it(width):
    number = 3**60  # 96 bits
    packed = binary.pack(digits(number, 2, PLACES), width)
    assert value(packed, 2**width) == number
    np.testing.assert_array_equal(binary.spell(packed, width, PLACES), digits(number, 2, PLACES))

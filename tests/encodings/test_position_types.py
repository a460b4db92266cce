"""Positions of any integer type mean the same, one per token; all others are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos import ENCODINGS, Ordinal, Positions, Randomized, Shape, UserError, apply_rope
from randpos.encodings.learned import Learned
from randpos.encodings.sinusoids import sinusoid
from randpos.positions import int32_positions, sample_positions
from tests.oracles.encodings import sinusoid as sinusoid_by_definition
from tests.small import KEY, NAMES

TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
INDEX = [1, 5, 100, 127]
SHAPE = Shape(layers=1, heads=1, dim=8, positions=200)


def places(index, dtype):
    """The same positions as NumPy and, in types that JAX has, as JAX keeps them."""
    there = np.array(index, dtype)
    return [there] if "64" in dtype else [there, jnp.asarray(there)]


def rotated(x: np.ndarray, position: int) -> np.ndarray:
    """Pairs of channels as complex numbers in float64, turned by their angles."""
    half = len(x) // 2
    angles = position * 10000.0 ** (-np.arange(half) / half)
    turned = (x[:half] + 1j * x[half:]) * np.exp(1j * angles)
    return np.concatenate([turned.real, turned.imag])


@pytest.mark.parametrize("dtype", TYPES)
def test_rotations_and_sinusoids_are_those_of_the_definition(dtype):
    x = np.random.default_rng(0).normal(size=(4, 8))
    for index in places(INDEX, dtype):
        expected = [rotated(row, position) for row, position in zip(x, INDEX, strict=True)]
        np.testing.assert_allclose(apply_rope(jnp.asarray(x), index), expected, atol=1e-5)
        expected = [sinusoid_by_definition(position, 8) for position in INDEX]
        np.testing.assert_allclose(sinusoid(jnp.asarray(index), 8), expected, atol=1e-6)


@pytest.mark.parametrize("dtype", TYPES)
def test_an_encoding_sees_the_same_numbers_of_every_type(dtype):
    for index in [*places(INDEX, dtype), INDEX]:
        seen = Positions.at(index)
        assert {leaf.dtype for leaf in jax.tree.leaves(seen)} == {jnp.dtype("int32")}
        assert seen.query.tolist() == seen.key.tolist() == INDEX
        assert seen.offsets.tolist() == [[q - k for k in INDEX] for q in INDEX]


@pytest.mark.parametrize("dtype", TYPES)
def test_offsets_of_ones_own_are_widened_too(dtype):
    index, offsets = np.array([1, 2], dtype), np.array([[0, 1], [1, 0]], dtype)
    seen = Positions(index, index, offsets)
    assert {leaf.dtype for leaf in jax.tree.leaves(seen)} == {jnp.dtype("int32")}


@pytest.mark.parametrize("dtype", TYPES)
def test_the_learned_row_of_a_position_is_added(dtype):
    table = Learned(SHAPE, key=KEY)
    for index in places(INDEX, dtype):
        found = table.embed(jnp.zeros((1, 4, 8)), Positions.at(index))
        np.testing.assert_array_equal(found[0], table.rows[np.array(INDEX) - 1])


@pytest.mark.parametrize("reading", ["positions", "distances", "released"])
def test_lengths_of_small_types_draw_the_same_positions(reading):
    small, whole = Randomized(np.uint8(200), reading=reading), Randomized(200, reading=reading)
    found, expected = small.sample(KEY, np.uint8(3), np.uint8(5)), whole.sample(KEY, 3, 5)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(one, other)
    assert Ordinal().sample(KEY, np.uint8(2), np.uint8(2)).offsets.tolist() == [[0, -1], [1, 0]]


@pytest.mark.parametrize(
    "index",
    [
        np.array([1, 2**31]),
        np.array([-(2**31) - 1, 1]),
        np.array([1, 2**31], np.uint32),
        jnp.array([1, 2**31], jnp.uint32),
        np.array([1, 2**63], np.uint64),
        [1, 2**31],
    ],
)
def test_positions_beyond_int32_are_refused(index):
    for function in (Positions.at, lambda at: apply_rope(jnp.ones((2, 8)), at)):
        with pytest.raises(UserError, match=r"positions run from .* int32"):
            function(index)


def test_the_ends_of_int32_are_taken():
    ends = [-(2**31), 2**31 - 1]
    assert int32_positions(np.array(ends)).tolist() == ends


@pytest.mark.parametrize("index", [[1.0, 2.0], np.array([True, False]), [1, 2**70]])
def test_positions_that_are_no_integers_are_refused(index):
    with pytest.raises(UserError, match="pass integers"):
        int32_positions(index)


def test_a_maximum_beyond_int32_is_refused():
    with pytest.raises(UserError, match=r"L=2147483648 must lie between"):
        sample_positions(KEY, 3, maximum=2**31)


@pytest.mark.parametrize("count", [1, 4, 6])
@pytest.mark.parametrize("name", NAMES)
def test_tokens_need_one_position_each(name, count):
    encoding = ENCODINGS[name](SHAPE, key=KEY)
    with pytest.raises(UserError, match=f"x has 5 tokens, but there are {count} positions"):
        encoding.embed(jnp.ones((2, 5, 8)), Positions.at(jnp.arange(1, 1 + count)))


@pytest.mark.parametrize("index", [[7], [1, 2, 3, 4], [[7], [8]], [[[1, 2, 3, 4, 5]]], 7])
def test_rotated_tokens_need_one_position_each(index):
    with pytest.raises(UserError, match=r"one position for each token|does not fit positions"):
        apply_rope(jnp.ones((2, 5, 8)), jnp.array(index))


def test_every_example_can_be_rotated_by_positions_of_its_own():
    x = jax.random.normal(KEY, (2, 3, 4, 8))
    index = jnp.array([INDEX, INDEX[::-1]])
    apart = jnp.stack([apply_rope(x[i], index[i]) for i in range(2)])
    np.testing.assert_array_equal(apply_rope(x, index[:, None]), apart)

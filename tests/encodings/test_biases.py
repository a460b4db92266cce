"""The numbers that ALiBi and T5 take from their papers."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from randpos.encodings import RoPE, Shape, apply_rope
from randpos.encodings.alibi import asymmetric_distance, slopes
from randpos.encodings.t5 import bucket
from tests.small import KEY


def test_the_slopes_of_8_heads_are_powers_of_two():
    assert slopes(8).tolist() == [2.0**-i for i in range(1, 9)]


def test_a_key_to_the_left_is_half_a_step_nearer():
    assert asymmetric_distance(jnp.array([[0, 1, 7, -1, -7]])).tolist() == [[0, 0.5, 6.5, 1, 7]]
    assert asymmetric_distance(jnp.array([[0, 1, 7]]), one_sided=True).tolist() == [[0, 1, 7]]


def published_bucket(offset: int) -> int:
    """The released T5: relative position is key − query, half of the buckets for each side."""
    relative = -offset
    start = 16 if relative > 0 else 0
    distance = abs(relative)
    if distance < 8:
        return start + distance
    large = 8 + int(np.log(distance / 8) / np.log(128 / 8) * 8 + 1e-9)
    return start + min(large, 15)


def test_buckets_are_those_of_the_released_t5():
    offsets = np.arange(-3000, 3001)
    expected = [published_bucket(int(offset)) for offset in offsets]
    assert bucket(jnp.asarray(offsets[None]))[0].tolist() == expected


def test_a_decoder_has_the_one_sided_buckets_of_the_released_t5():
    """`bidirectional=False`: 32 buckets, 16 of them exact, the last one from 113 on."""
    offsets = np.arange(3001)
    large = 16 + (np.log(np.maximum(offsets, 1) / 16) / np.log(128 / 16) * 16 + 1e-9).astype(int)
    expected = np.where(offsets < 16, offsets, np.minimum(large, 31))
    assert bucket(jnp.asarray(offsets[None]), one_sided=True)[0].tolist() == expected.tolist()


@pytest.mark.parametrize("shift", [1, 40_000])
def test_rotated_products_depend_on_the_difference_of_positions(shift):
    rng = np.random.default_rng(2)
    q, k = (jnp.asarray(rng.normal(size=(5, 8)), jnp.float32) for _ in range(2))
    at = jnp.array([1, 4, 30, 2000, 8192])
    here = apply_rope(q, at) @ apply_rope(k, at).T
    there = apply_rope(q, at + shift) @ apply_rope(k, at + shift).T
    np.testing.assert_allclose(here, there, rtol=0, atol=2e-5)


def test_rotation_keeps_lengths():
    turned = apply_rope(jnp.ones((5, 8)), jnp.array([1, 4, 500, 2000, 8192]))
    np.testing.assert_allclose(jnp.linalg.norm(turned, axis=-1), 8**0.5, rtol=1e-6)


def test_rope_has_no_parameters():
    assert not [x for x in vars(RoPE(Shape(), key=KEY)).values() if hasattr(x, "dtype")]


def test_the_slopes_of_other_numbers_of_heads_are_those_of_the_authors():
    def published(count: int) -> list[float]:
        """The recursion of Press et al., in plain Python."""
        if math.log2(count).is_integer():
            start = 2 ** (-(2 ** -(math.log2(count) - 3)))
            return [start * start**i for i in range(count)]
        below = 2 ** math.floor(math.log2(count))
        return published(below) + published(2 * below)[0::2][: count - below]

    for heads in (1, 2, 3, 5, 6, 7, 12, 16):
        np.testing.assert_allclose(slopes(heads), published(heads), rtol=1e-12)

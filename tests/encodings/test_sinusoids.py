"""Positions reach the sinusoids as exact integers."""

import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from randpos.encodings.sinusoids import frequencies, sin_cos, sinusoid
from tests.oracles import encodings as oracle

PI = Fraction("3.14159265358979323846264338327950288419716939937510")
FAR = np.unique(np.concatenate([np.arange(1, 3000), np.geomspace(3000, 65535, 3000).astype(int)]))


@pytest.mark.parametrize("sign", [-1, 1])
def test_sines_and_cosines_are_exact_at_any_position(sign):
    positions = sign * FAR
    angles = positions[:, None] * frequencies(32)
    sin, cos = sin_cos(jnp.asarray(positions), 32)
    np.testing.assert_allclose(sin, np.sin(angles), rtol=0, atol=1e-6)
    np.testing.assert_allclose(cos, np.cos(angles), rtol=0, atol=1e-6)


@pytest.mark.parametrize("count", [4, 32])
def test_every_int32_is_exact_to_float32(count):
    """Against exact rational angles, reduced by a long expansion of pi."""
    positions = [65_536, 131_072, 10**6, 2**31 - 1, -(2**31 - 1)]
    sin, cos = (np.asarray(x) for x in sin_cos(jnp.array(positions), count))
    turn = 2 * PI
    for row, position in enumerate(positions):
        for i, frequency in enumerate(frequencies(count)):
            angle = Fraction(position) * Fraction(float(frequency))
            angle = float(angle - turn * (angle // turn))
            assert sin[row, i] == pytest.approx(math.sin(angle), abs=3e-7)
            assert cos[row, i] == pytest.approx(math.cos(angle), abs=3e-7)


@pytest.mark.parametrize("largest", [200, 70_000, 10**6])
def test_a_bound_on_positions_changes_no_bit(largest):
    positions = jnp.array([1, 100, largest])
    for bounded, full in zip(sin_cos(positions, 4, largest), sin_cos(positions, 4), strict=True):
        np.testing.assert_array_equal(bounded, full)


def test_a_sinusoid_is_equations_1_and_2():
    positions = [-65535, -257, -256, -1, 0, 1, 255, 256, 2048, 65535]
    for position, found in zip(positions, sinusoid(jnp.array(positions), 64), strict=True):
        np.testing.assert_allclose(found, oracle.sinusoid(position, 64), rtol=0, atol=1e-6)


def test_a_head_of_8_has_the_frequencies_of_the_paper():
    np.testing.assert_allclose(frequencies(4), [1, 0.1, 0.01, 0.001])

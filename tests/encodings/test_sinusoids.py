"""Positions reach the sinusoids as exact integers."""

import jax.numpy as jnp
import numpy as np
import pytest

from randpos.encodings.sinusoids import frequencies, sin_cos, sinusoid
from tests.oracles import encodings as oracle

FAR = np.unique(np.concatenate([np.arange(1, 3000), np.geomspace(3000, 65535, 3000).astype(int)]))


@pytest.mark.parametrize("sign", [-1, 1])
def test_sines_and_cosines_are_exact_at_any_position(sign):
    positions = sign * FAR
    angles = positions[:, None] * frequencies(32)
    sin, cos = sin_cos(jnp.asarray(positions), 32)
    np.testing.assert_allclose(sin, np.sin(angles), rtol=0, atol=1e-6)
    np.testing.assert_allclose(cos, np.cos(angles), rtol=0, atol=1e-6)


@pytest.mark.parametrize("position", [-65535, -257, -256, -1, 0, 1, 255, 256, 2048, 65535])
def test_a_sinusoid_is_equations_1_and_2(position):
    found = sinusoid(jnp.array([position]), 64)[0]
    np.testing.assert_allclose(found, oracle.sinusoid(position, 64), rtol=0, atol=1e-6)


def test_a_head_of_8_has_the_frequencies_of_the_paper():
    np.testing.assert_allclose(frequencies(4), [1, 0.1, 0.01, 0.001])

"""Geometric attention: the worked rows, and the product of many probabilities at length 400."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos import Ordinal, Positions, Shape
from randpos.encodings import Geometric
from randpos.encodings.base import View
from tests.small import KEY


def weights(z: np.ndarray, positions: Positions, *, normalise: bool, mask=None) -> np.ndarray:
    """The weights of one head, given the log-odds z [query, key] of each match."""
    time = len(z)
    width = max(2, time)
    encoding = Geometric(Shape(1, 1, width, time), normalise=normalise, key=KEY)
    x = jnp.zeros((1, time, width))
    q = np.zeros((1, 1, time, width))
    q[..., :time] = z * width**0.5
    k = np.eye(time, width)[None, None]
    allowed = jnp.ones((1, 1, 1, time), bool) if mask is None else mask
    shared = encoding.precompute(positions, allowed)
    view = View(shared, encoding.precompute_layer(shared, 0), allowed)
    q, k = jnp.asarray(q, jnp.float32), jnp.asarray(k, jnp.float32)
    found = encoding.weights(x, q, k, view, 0)
    return np.asarray(found)[0, 0]


def scanned(z: np.ndarray) -> np.ndarray:
    """Outwards from each query, the right key before the left; a product of probabilities."""
    time = len(z)
    chance = 1 / (1 + np.exp(-z))
    found = np.zeros((time, time))
    for i in range(time):
        left = 1.0
        for distance in range(1, time):
            for j in (i + distance, i - distance):
                if 0 <= j < time:
                    found[i, j] = left * chance[i, j]
                    left *= 1 - chance[i, j]
    return found


def ordinal(time: int) -> Positions:
    return Ordinal().sample(KEY, time, time)


@pytest.mark.parametrize(
    ("query", "row"),
    [(0, [0, 1 / 2, 1 / 4, 1 / 8, 1 / 16]), (2, [1 / 16, 1 / 4, 0, 1 / 2, 1 / 8])],
)
def test_rows_without_preference_halve_from_key_to_key(query, row):
    found = weights(np.zeros((5, 5)), ordinal(5), normalise=False)
    np.testing.assert_allclose(found[query], row, rtol=1e-6)


def test_positions_decide_which_key_is_nearer():
    found = weights(np.zeros((5, 5)), Positions.at(jnp.array([1, 2, 9, 40, 41])), normalise=False)
    np.testing.assert_allclose(found[1], [1 / 2, 0, 1 / 4, 1 / 8, 1 / 16], rtol=1e-6)
    np.testing.assert_allclose(found[2], [1 / 4, 1 / 2, 0, 1 / 8, 1 / 16], rtol=1e-6)


def test_normalised_rows_sum_to_one_and_keep_their_proportions():
    z = np.random.default_rng(0).normal(size=(5, 5), scale=2)
    found, bare = (weights(z, ordinal(5), normalise=flag) for flag in (True, False))
    np.testing.assert_allclose(found, bare / bare.sum(-1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("normalise", [True, False])
def test_a_token_alone_attends_to_nothing(normalise):
    assert weights(np.zeros((1, 1)), ordinal(1), normalise=normalise).tolist() == [[0.0]]


def test_a_forbidden_key_gets_nothing_and_blocks_nothing():
    mask = jnp.array([True, True, True, False, True])[None, None, None]
    found = weights(np.zeros((5, 5)), ordinal(5), normalise=False, mask=mask)
    np.testing.assert_allclose(found[2], [1 / 8, 1 / 2, 0, 0, 1 / 4], rtol=1e-6)


@pytest.mark.parametrize(("centre", "spread"), [(0, 1), (-6, 3), (0, 30), (-30, 0), (25, 5)])
def test_400_tokens_agree_with_the_product_of_probabilities(centre, spread):
    z = centre + spread * np.random.default_rng(5).normal(size=(400, 400))
    z = z.astype(np.float32).astype(float)
    found = weights(z, ordinal(400), normalise=False)
    np.testing.assert_allclose(found, scanned(z), rtol=0, atol=2e-6)


def test_rows_with_hardly_any_mass_are_still_normalised():
    z = np.full((5, 5), -80.0)
    np.testing.assert_allclose(weights(z, ordinal(5), normalise=True).sum(-1), 1, atol=1e-5)


def test_it_starts_as_published():
    encoding = jax.jit(lambda: Geometric(Shape(layers=3, heads=8, dim=64), key=KEY))()
    assert encoding.normalise
    assert not encoding.query_bias.any()
    assert not encoding.direction_bias.any()
    np.testing.assert_allclose(encoding.content_scale, 8**-0.5)
    np.testing.assert_array_equal(encoding.direction_scale, 1)
    np.testing.assert_array_equal(encoding.threshold, 0)

"""A dropout mask must look independent, though it comes from a hash."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from randpos.nn.dropout import dropout

SHAPE = (128, 40, 64)
RATE = 0.1
P_VALUE = 1e-4
dropped = jax.jit(lambda key: dropout(jnp.ones(SHAPE), RATE, key) == 0)
KEY = jax.random.key(0)
# Keys that resemble one another: consecutive seeds, and bits that differ in either word.
KEYS = {
    "seed": jax.random.key(1),
    "split": jax.random.split(KEY)[0],
    "high": jax.random.wrap_key_data(jnp.array([1, 0], jnp.uint32)),
    "higher": jax.random.wrap_key_data(jnp.array([1 << 31, 0], jnp.uint32)),
    "low": jax.random.wrap_key_data(jnp.array([0, 1 << 31], jnp.uint32)),
}


def independent(left: np.ndarray, other: np.ndarray) -> bool:
    """Whether two masks of equal shape are uncorrelated, within 4.5 standard deviations."""
    joint = float((left & other).mean())
    expected = RATE**2
    return abs(joint - expected) < 4.5 * np.sqrt(expected * (1 - expected) / left.size)


def test_no_key_drops_nothing():
    x = jnp.ones((2, 3, 4))
    assert dropout(x, RATE, None) is x


def test_rate_zero_drops_nothing():
    x = jnp.ones((2, 3, 4))
    np.testing.assert_array_equal(dropout(x, 0.0, KEY), x)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_share_of_zeros_is_the_rate(rate):
    zeros = np.mean(np.asarray(dropout(jnp.ones(SHAPE), rate, KEY) == 0))
    deviation = np.sqrt(rate * (1 - rate) / np.prod(SHAPE))
    assert abs(zeros - rate) < 4.5 * deviation


def test_what_is_kept_is_scaled_so_that_the_mean_stays():
    out = np.asarray(dropout(jnp.full(SHAPE, 3.0), RATE, KEY))
    np.testing.assert_allclose(np.unique(out), [0, 3 / (1 - RATE)], rtol=1e-6)
    assert out.mean() == pytest.approx(3, rel=2e-3)


def test_the_same_key_drops_the_same():
    np.testing.assert_array_equal(dropped(KEY), dropped(KEY))


def test_similar_keys_drop_independently():
    first = np.asarray(dropped(KEY))
    for name, key in KEYS.items():
        assert independent(first, np.asarray(dropped(key))), name


@pytest.mark.parametrize("key", [KEY, *KEYS.values()], ids=["zero", *KEYS])
def test_elements_drop_at_the_rate_and_independently(key):
    mask = np.asarray(dropped(key))
    # A chi-square of the counts along each axis: no example, place or channel stands out.
    for axis in range(3):
        counts = mask.sum(tuple({0, 1, 2} - {axis}))
        size = mask.size / len(counts)
        statistic = np.sum((counts - RATE * size) ** 2) / (size * RATE * (1 - RATE))
        assert P_VALUE < stats.chi2.sf(statistic, len(counts)) < 1 - P_VALUE

    # Neighbours.
    for axis, lag in itertools.product(range(3), (1, 2, 3, 8, 16, 32)):
        moved = np.moveaxis(mask, axis, 0)
        assert independent(moved[lag:], moved[:-lag]), (axis, lag)

    # Any two channels.
    rows = mask.reshape(-1, SHAPE[-1]).astype(float)
    expected = RATE**2
    scores = rows.T @ rows / len(rows) - expected
    scores /= np.sqrt(expected * (1 - expected) / len(rows))
    assert np.abs(scores[np.triu_indices(SHAPE[-1], 1)]).max() < 5.5


def test_eight_elements_together_form_every_byte_as_often():
    halves = np.asarray(dropout(jnp.ones(SHAPE), 0.5, KEY) == 0)
    counts = np.bincount(np.packbits(halves, axis=-1).ravel(), minlength=256)
    assert stats.chisquare(counts).pvalue > P_VALUE


def test_padding_behind_a_sequence_does_not_change_its_mask():
    short = np.asarray(dropout(jnp.ones((4, 10, 8)), RATE, KEY))
    long = np.asarray(dropout(jnp.ones((4, 25, 8)), RATE, KEY))
    np.testing.assert_array_equal(long[:, :10], short)


def test_a_piece_of_a_batch_gets_its_part_of_the_mask():
    whole = np.asarray(dropout(jnp.ones((6, 5, 8)), 0.5, KEY))
    piece = np.asarray(dropout(jnp.ones((2, 5, 8)), 0.5, KEY, first=3))
    np.testing.assert_array_equal(piece, whole[3:5])


def test_members_of_an_ensemble_drop_as_alone():
    keys = jax.random.split(KEY, 3)
    together = jax.vmap(lambda k: dropout(jnp.ones((2, 3, 4)), 0.5, k))(keys)
    for member, key in zip(together, keys, strict=True):
        np.testing.assert_array_equal(member, dropout(jnp.ones((2, 3, 4)), 0.5, key))


def test_the_gradient_is_the_scaled_mask():
    x = jnp.full((4, 5, 8), 2.0)
    gradient = jax.grad(lambda x: jnp.sum(dropout(x, RATE, KEY)))(x)
    np.testing.assert_allclose(gradient, dropout(x, RATE, KEY) / 2, rtol=1e-6)

"""JAX, NumPy and PyTorch draw positions from the same distribution."""

import itertools
from collections import Counter, defaultdict

import jax
import numpy as np
import pytest
import torch
from scipy import stats

import randpos.numpy
import randpos.positions
import randpos.torch
from randpos.errors import UserError

SAMPLERS = {
    "jax": lambda seed, *args, **kw: np.asarray(
        randpos.positions.sample_positions(jax.random.key(seed), *args, **kw)
    ),
    "numpy": randpos.numpy.sample_positions,
    "torch": lambda *args, **kw: randpos.torch.sample_positions(*args, **kw).numpy(),
}
SKIPWISE = {
    "numpy": randpos.numpy.sample_skipwise,
    "torch": lambda *args, **kw: randpos.torch.sample_skipwise(*args, **kw).numpy(),
}
# Seeds are fixed, so no test flickers; a broken law has a p-value many orders below this.
P_VALUE = 1e-4


@pytest.fixture(params=SAMPLERS)
def sample(request):
    return SAMPLERS[request.param]


@pytest.fixture(params=SKIPWISE)
def skipwise(request):
    return SKIPWISE[request.param]


def uniform(counts, categories: int) -> bool:
    """Whether counts over all `categories` (absent ones count 0) pass a chi-square test."""
    observed = [*counts, *([0] * (categories - len(counts)))]
    assert len(observed) == categories
    return stats.chisquare(observed).pvalue > P_VALUE


def test_positions_are_ascending_distinct_and_in_range(sample):
    for length, maximum in ((1, 1), (1, 9), (7, 7), (40, 2048), (0, 5)):
        drawn = sample(1, length, maximum=maximum, batch=50)
        assert drawn.shape == (50, length)
        assert sample(1, length, maximum=maximum).shape == (length,)
        assert (np.diff(drawn, axis=-1) > 0).all()
        assert ((drawn >= 1) & (drawn <= maximum)).all()


# PyTorch draws with replacement and drops duplicates up to half of all positions; else it permutes.
@pytest.mark.parametrize(("length", "maximum"), [(1, 7), (3, 6), (4, 8), (5, 7)])
def test_every_subset_is_equally_likely(sample, length, maximum):
    drawn = sample(2, length, maximum=maximum, batch=6000)
    subsets = list(itertools.combinations(range(1, maximum + 1), length))
    counts = Counter(map(tuple, drawn.tolist()))
    assert set(counts) <= set(subsets)
    assert uniform([counts[s] for s in subsets], len(subsets))


def test_every_order_is_equally_likely_without_the_sort(sample):
    drawn = sample(3, 3, maximum=4, batch=6000, sort=False)
    counts = Counter(map(tuple, drawn.tolist()))
    assert uniform(list(counts.values()), 4 * 3 * 2)


def test_each_position_is_included_with_probability_length_over_maximum(sample):
    length, maximum, draws = 20, 64, 4000
    drawn = sample(4, length, maximum=maximum, batch=draws)
    included = np.bincount(drawn.ravel(), minlength=maximum + 1)[1:]
    expected = draws * length / maximum
    # Counts of one draw are negatively correlated: the chi-square statistic shrinks by (L-n)/(L-1).
    statistic = ((included - expected) ** 2 / expected).sum() * (maximum - 1) / (maximum - length)
    assert P_VALUE < stats.chi2.sf(statistic, maximum - 1) < 1 - P_VALUE


def test_each_pair_is_included_with_its_probability(sample):
    length, maximum, draws = 4, 8, 5000
    drawn = sample(5, length, maximum=maximum, batch=draws)
    holds = np.zeros((draws, maximum + 1))
    np.put_along_axis(holds, drawn, 1.0, axis=1)
    together = (holds.T @ holds)[1:, 1:][np.triu_indices(maximum, 1)] / draws
    p = length * (length - 1) / (maximum * (maximum - 1))
    assert np.abs(together - p).max() < 5 * np.sqrt(p * (1 - p) / draws)


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_a_large_maximum_costs_no_memory(framework):
    """A permutation of 2^50 positions could not be formed."""
    drawn = SAMPLERS[framework](0, 100, maximum=2**50, batch=2)
    assert (np.diff(drawn, axis=-1) > 0).all()
    assert drawn.max() > 2**48


def test_rows_of_a_batch_are_independent(sample):
    first, second = sample(6, 1, maximum=5, batch=10_000).reshape(-1, 2).T
    table = np.zeros((5, 5))
    np.add.at(table, (first - 1, second - 1), 1)
    assert uniform(table.ravel(), 25)


def test_a_seed_repeats_and_another_does_not(sample):
    left, again, other = (sample(seed, 30, maximum=500, batch=2) for seed in (7, 7, 8))
    assert (left == again).all()
    assert (left != other).any()
    assert (left[0] != left[1]).any()


def test_too_small_a_maximum_is_a_sentence(sample):
    with pytest.raises(UserError, match=r"^L=16 is too small .*20"):
        sample(0, 20, maximum=16)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("draw", [*SAMPLERS.values(), *SKIPWISE.values()])
@pytest.mark.parametrize("most", [np.uint8(255), np.int8(127)])
def test_lengths_of_small_types_do_not_overflow(draw, most):
    for length in (most, most - 1):
        found = draw(0, length, maximum=most)
        np.testing.assert_array_equal(found, draw(0, int(length), maximum=int(most)))


def test_skipwise_positions_are_contiguous_chunks(skipwise):
    sizes = ((1, 1), (2, 9), (8, 8), (20, 64))
    for chunks, (length, maximum) in itertools.product((1, 2, 3, 8), sizes):
        drawn = skipwise(1, length, maximum=maximum, chunks=chunks, batch=100)
        steps = np.diff(drawn, axis=-1)
        assert drawn.shape == (100, length)
        assert (drawn[:, 0] == 1).all()
        assert (steps >= 1).all()
        assert (drawn <= maximum).all()
        assert ((steps > 1).sum(axis=-1) <= chunks - 1).all()


def test_skipwise_law_is_that_of_the_paper(skipwise):
    """Exact probabilities of all outcomes for 3 chunks, enumerated from equation 4."""
    length, maximum, draws = 4, 6, 8000
    room = maximum - length
    law = defaultdict(float)
    cuts = list(itertools.combinations(range(1, length), 2))
    for a, b in cuts:
        for u in range(room + 1):
            for v in range(u, room + 1):
                skips = np.array([0] * a + [u] * (b - a) + [v] * (length - b))
                key = tuple((np.arange(1, length + 1) + skips).tolist())
                law[key] += 1 / len(cuts) / (room + 1) / (room + 1 - u)
    drawn = skipwise(2, length, maximum=maximum, chunks=3, batch=draws)
    counts = Counter(map(tuple, drawn.tolist()))
    assert set(counts) <= set(law)
    observed, expected = zip(*((counts[k], p * draws) for k, p in law.items()), strict=True)
    assert stats.chisquare(observed, expected).pvalue > P_VALUE


def test_skipwise_refuses_what_does_not_fit(skipwise):
    with pytest.raises(UserError, match="L=3 is too small"):
        skipwise(0, 4, maximum=3)
    with pytest.raises(UserError, match="chunks=0"):
        skipwise(0, 4, maximum=9, chunks=0)


def test_torch_draws_from_the_callers_generator():
    generator = torch.Generator().manual_seed(3)
    first = randpos.torch.sample_positions(generator, 5)
    second = randpos.torch.sample_positions(generator, 5)
    assert not torch.equal(first, second)
    assert torch.equal(first, randpos.torch.sample_positions(3, 5))
    assert first.dtype == torch.int64


def test_numpy_draws_from_the_callers_generator():
    rng = np.random.default_rng(3)
    first, second = (randpos.numpy.sample_positions(rng, 5) for _ in range(2))
    assert (first != second).any()
    assert (first == randpos.numpy.sample_positions(3, 5)).all()
    assert first.dtype == np.int64

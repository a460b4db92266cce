"""Intervals against SciPy, and their coverage by simulation."""

import numpy as np
import pytest
from scipy import stats

from randpos.results.statistics import (
    Interval,
    Sample,
    mean_interval,
    shared_error,
    t_quantile,
    welch_interval,
)


@pytest.mark.parametrize("freedom", [1, 1.3, 2, 2.7, 9, 17.4, 100, 1e5])
def test_quantiles_are_those_of_scipy(freedom: float) -> None:
    for probability in (0.001, 0.025, 0.5, 0.6, 0.975, 0.9999):
        expected = stats.t.ppf(probability, freedom)
        assert t_quantile(probability, freedom) == pytest.approx(expected, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("count", [3, 10])
def test_the_interval_of_a_mean_is_scipys(count: int) -> None:
    values = np.random.default_rng(count).normal(0.7, 0.1, count)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert mean_interval(list(values)) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("sds", [(6.6, 1.3), (0.4, 9.8), (2.0, 2.0)])
def test_the_interval_of_published_means_is_scipys(sds: tuple[float, float]) -> None:
    left, right = (10.0 + sd * stats.zscore(np.arange(10.0), ddof=1) for sd in sds)
    expected = stats.ttest_ind(left, right, equal_var=False).confidence_interval(0.95)
    found = welch_interval(Sample(10.0, sds[0], 10), Sample(10.0, sds[1], 10))
    assert found == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("count", [3, 5, 10])
def test_95_percent_of_the_intervals_cover_the_truth(count: int) -> None:
    rng, trials = np.random.default_rng(0), 2000
    intervals = [mean_interval(list(rng.normal(0.3, 0.1, count))) for _ in range(trials)]
    covered = np.mean([i is not None and i.low <= 0.3 <= i.high for i in intervals])
    # Three standard errors of the simulation. A percentile bootstrap has 0.75, 0.83 and 0.91.
    assert covered == pytest.approx(0.95, abs=3 * (0.95 * 0.05 / trials) ** 0.5)


@pytest.mark.parametrize("count", [3, 5, 10])
@pytest.mark.parametrize("test_error", [0.03, 0.1, 0.3])
def test_intervals_cover_the_truth_although_all_seeds_share_the_error_of_the_test(
    count: int, test_error: float
) -> None:
    rng, trials = np.random.default_rng(0), 2000
    covered, covered_by_seeds = 0, 0
    for _ in range(trials):
        values = list(rng.normal(0.3, 0.1, count) + rng.normal(0, test_error))
        joint, seeds = mean_interval(values, test_error), mean_interval(values)
        assert joint is not None
        assert seeds is not None
        covered += joint.low <= 0.3 <= joint.high
        covered_by_seeds += seeds.low <= 0.3 <= seeds.high
    # The sum of squares is too wide where t is large: 0.977 at three seeds.
    assert 0.94 <= covered / trials <= 0.985
    if test_error >= 0.1:  # The spread over seeds alone covers 0.18 to 0.82.
        assert covered_by_seeds / trials < 0.9


def test_constant_answers_have_the_error_of_the_test() -> None:
    # All seeds have the same score; the interval is that of a normal with the test's error.
    found = mean_interval([46.3, 46.3, 46.3], 1.6)
    assert found == pytest.approx(stats.norm(46.3, 1.6).interval(0.95))


def test_the_shared_error_is_the_root_mean_square_of_runs_and_adds_up_over_sides() -> None:
    assert shared_error([1.0, 7.0]) == pytest.approx(5.0)
    assert shared_error([1.0, 7.0], [12.0, 12.0]) == pytest.approx(13.0)
    assert shared_error([1.0, None]) is None
    assert shared_error([1.0], [None]) is None


def test_two_seeds_have_neither_interval_nor_sign() -> None:
    assert mean_interval([0.1, 0.2]) is None
    assert welch_interval(Sample(1.0, 0.1, 2), Sample(0.0, 0.1, 10)) is None


def test_the_sign_is_that_of_an_interval_without_zero() -> None:
    assert [Interval(*ends).sign for ends in ((1, 2), (-2, -1), (-1, 2), (0, 1))] == [1, -1, 0, 0]
    assert mean_interval([0.1, 0.1, 0.1]) == pytest.approx((0.1, 0.1))

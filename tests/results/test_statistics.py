"""Intervals against SciPy, and paired comparisons against sums done by hand."""

import numpy as np
import pytest
from scipy import stats

from randpos.results.scores import cells, score_runs
from randpos.results.statistics import BEST, Comparison, bootstrap, by_seed, compare
from randpos.results.tables.formats import render
from randpos.results.tables.make import make_table
from tests.results.stores import run, scored


def comparisons(scores: dict[str, list[float]], task: str = "even_pairs") -> dict[str, Comparison]:
    results = [
        (run(task, name, seed), value)
        for name, values in scores.items()
        for seed, value in enumerate(values)
    ]
    found = score_runs(scored(results))
    return {one.pair: one for one in compare(by_seed(found, cells(found)))}


@pytest.mark.parametrize("count", [2, 5, 10])
def test_the_interval_is_the_percentile_bootstrap_of_the_mean(count: int) -> None:
    values = np.random.default_rng(count).normal(0.7, 0.1, count)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    interval = bootstrap(values)
    assert interval is not None
    # Both are estimates from random draws.
    width = theirs.high - theirs.low
    assert interval.low == pytest.approx(theirs.low, abs=0.05 * width)
    assert interval.high == pytest.approx(theirs.high, abs=0.05 * width)


def test_the_interval_is_the_same_every_time_and_moves_with_the_values() -> None:
    values = np.array([0.2, 0.5, 0.9])
    first = bootstrap(values)
    assert first is not None
    assert first == bootstrap(values)
    moved = bootstrap(2 * values + 1)
    assert moved is not None
    assert moved.low == pytest.approx(2 * first.low + 1)
    assert moved.high == pytest.approx(2 * first.high + 1)


def test_one_value_has_no_interval() -> None:
    assert bootstrap(np.array([0.5])) is None


def test_differences_are_paired_by_seed() -> None:
    # Unpaired, such spread would hide the difference; seed by seed it is always 0.1.
    plain = [0.2, 0.5, 0.8]
    found = comparisons({"relative": plain, "randomized-relative": [p + 0.1 for p in plain]})
    one = found["relative"]
    assert one.difference == pytest.approx(0.1)
    assert one.interval is not None
    assert one.interval.low == pytest.approx(0.1)
    assert one.interval.high == pytest.approx(0.1)
    assert (one.sign, one.seeds) == ("+", 3)


@pytest.mark.parametrize(
    ("gaps", "sign"), [([0.1, 0.2], "+"), ([-0.1, -0.2], "−"), ([0.3, -0.2], "0")]
)
def test_the_sign_is_that_of_the_interval(gaps: list[float], sign: str) -> None:
    found = comparisons({"rope": [0.5, 0.5], "randomized-rope": [0.5 + gap for gap in gaps]})
    assert found["rope"].sign == sign


def test_best_is_compared_with_best() -> None:
    found = comparisons(
        {
            "none": [0.5, 0.5],
            "alibi": [0.6, 0.8],
            "randomized-alibi": [0.7, 0.7],
            "randomized-rope": [0.9, 0.9],
        }
    )
    assert (found[BEST].randomized, found[BEST].plain) == ("randomized-rope", "alibi")
    assert found[BEST].difference == pytest.approx(0.2)
    assert found["alibi"].difference == pytest.approx(0.0)
    assert "rope" not in found  # it has no plain side


def test_only_common_seeds_at_the_best_rates_are_compared() -> None:
    results = [
        (run("even_pairs", "rope", 0, 1e-4), 0.4),
        (run("even_pairs", "rope", 1, 1e-4), 0.6),
        (run("even_pairs", "rope", 1, 5e-4), 0.1),
        (run("even_pairs", "randomized-rope", 1, 3e-4), 0.9),
        (run("even_pairs", "randomized-rope", 2, 3e-4), 0.7),
    ]
    found = score_runs(scored(results))
    (one,) = [c for c in compare(by_seed(found, cells(found))) if c.pair == "rope"]
    assert one.seeds == 1
    assert one.difference == pytest.approx(0.3)
    assert (one.interval, one.sign) == (None, "")


def test_one_seed_gives_the_difference_and_says_that_it_has_no_interval() -> None:
    store = scored([(run("even_pairs", "rope"), 0.5), (run("even_pairs", "randomized-rope"), 0.8)])
    text = render(make_table(store, "comparison"), "text")
    assert "+30.0 " in text
    assert "One seed: no interval" in text

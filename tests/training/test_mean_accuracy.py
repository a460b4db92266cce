"""The score and its standard error, against NumPy's interpolation and simulated tests."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from randpos import Accuracy
from randpos.training.mean_accuracy import in_domain, mean_accuracies, mean_accuracy, score


def curve(values: dict[int, float]) -> list[Accuracy]:
    return [Accuracy(length, value, 0.0) for length, value in values.items()]


def test_score_and_in_domain_are_means_over_exactly_their_lengths():
    values = dict(enumerate(np.random.default_rng(0).random(500), start=1))
    beyond, within = [values[n] for n in range(41, 501)], [values[n] for n in range(1, 41)]
    assert score(curve(values), 40, 500) == pytest.approx(np.mean(beyond), rel=1e-12)
    assert in_domain(curve(values), 40) == pytest.approx(np.mean(within), rel=1e-12)


@given(
    st.dictionaries(st.integers(1, 60), st.floats(0, 1), min_size=1),
    st.integers(1, 60),
    st.integers(1, 60),
)
def test_the_mean_is_that_of_numpys_interpolation(values, first, last):
    lengths = sorted(values)
    found = mean_accuracy(curve(values), first, last)
    if first > last or lengths[0] > first or lengths[-1] < last:
        assert found is None
    else:
        every = np.interp(range(first, last + 1), lengths, [values[n] for n in lengths])
        assert found == pytest.approx(every.mean(), abs=1e-12)


def test_nothing_tested_is_no_score():
    assert score([], 40, 60) is None


def table(accuracies: np.ndarray, lengths: np.ndarray, error: float | None = None) -> pl.DataFrame:
    """One simulated test per row of `accuracies`."""
    tests, count = accuracies.shape
    return pl.DataFrame(
        {
            "test": np.repeat(np.arange(tests), count),
            "length": np.tile(lengths, tests),
            "accuracy": accuracies.ravel(),
        }
    ).with_columns(error=pl.lit(error, pl.Float64))


ENDS = {"mean": (pl.lit(41), pl.lit(100))}


@pytest.mark.parametrize("stride", [1, 7])
def test_the_error_from_draws_is_the_spread_of_repeated_tests(stride):
    lengths = np.unique([41, *range(41, 101, stride), 100])
    noise = np.random.default_rng(0).normal(0, 0.05, (4000, len(lengths)))
    found = mean_accuracies(table(0.6 + noise, lengths, 0.05), ["test"], ENDS)
    assert found["mean_error"].to_numpy() == pytest.approx(found["mean"].std(), rel=0.05)


def test_the_error_from_successive_differences_is_that_spread_too():
    lengths = np.arange(30, 121)
    truth = np.linspace(1.0, 0.5, len(lengths))  # the slope is not noise
    noise = np.random.default_rng(0).normal(0, 0.05, (4000, len(lengths)))
    found = mean_accuracies(table(truth + noise, lengths), ["test"], ENDS)
    root = float(np.sqrt((found["mean_error"] ** 2).mean()))  # type: ignore[arg-type]
    assert root == pytest.approx(found["mean"].std(), rel=0.05)


def test_a_sparse_test_with_one_draw_has_no_error():
    found = mean_accuracies(table(np.full((1, 3), 0.5), np.array([41, 60, 100])), ["test"], ENDS)
    assert found.row(0) == (0, pytest.approx(0.5), None)

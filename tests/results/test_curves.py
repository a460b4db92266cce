"""Curves over length and over steps: means and spread over seeds."""

import pytest

from randpos.results import score_runs
from randpos.results.curves import curves_over_length, curves_over_steps
from tests.results.stores import records, run, store_with_steps

SD = 0.5**0.5 / 10
"""The standard deviation of two numbers that are a tenth apart."""


def test_a_curve_over_steps_is_the_mean_score_of_the_seeds():
    store = store_with_steps()
    found = curves_over_steps(store, score_runs(store))
    plain, randomized = found.filter(encoding="rope"), found.filter(encoding="randomized-rope")
    assert randomized["step"].to_list() == plain["step"].to_list() == [100, 200]
    assert randomized["mean"].to_list() == pytest.approx([0.65, 0.75])
    assert randomized["spread"].to_list() == pytest.approx([SD, SD])
    assert plain["mean"].to_list() == pytest.approx([0.5, 0.5])
    assert plain["spread"].to_list() == [0, 0]


def test_a_curve_over_length_has_the_lengths_that_all_seeds_share():
    way = {"whole": 0.0, "batch": 500, "seed": 0}
    one, two = (run("even_pairs", "rope", seed) for seed in (0, 1))
    tested = {one["run"]: {1: 0.9, 40: 0.7, 500: 0.5}, two["run"]: {1: 0.8, 500: 0.4, 60: 1.0}}
    rows = [
        {"run": name, "length": length, "accuracy": accuracy} | way
        for name, points in tested.items()
        for length, accuracy in points.items()
    ]
    store = records([one, two], rows)
    found = curves_over_length(store, score_runs(store))
    assert found["length"].to_list() == [1, 500]
    assert found["mean"].to_list() == pytest.approx([0.85, 0.45])
    assert found["spread"].to_list() == pytest.approx([SD, SD])
    alone = curves_over_length(store, score_runs(store).filter(run=one["run"]))
    assert alone["length"].to_list() == [1, 40, 500]
    assert alone["spread"].to_list() == [0, 0, 0]

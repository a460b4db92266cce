"""Scores of all runs at once, against the definition that scores one."""

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from randpos.results.budgets import budgets, usual, within
from randpos.results.scores import cells, score_runs
from randpos.results.statistics import by_seed
from randpos.training.evaluation import Accuracy, in_domain, score
from tests.results.stores import USUAL, accuracies_of, many_records, records, run, scored

CURVES = st.lists(
    st.dictionaries(st.integers(1, 120), st.floats(0, 1), max_size=30), min_size=1, max_size=5
)


@given(CURVES, st.integers(1, 60))
def test_scores_are_those_of_evaluation(curves: list[dict[int, float]], seen: int) -> None:
    runs = [run("even_pairs", "none", seed, training_length=seen) for seed in range(len(curves))]
    rows = []
    for one, curve in zip(runs, curves, strict=True):
        way = {"run": one["run"], "whole": 0.0, "batch": 8, "seed": 0}
        rows += [{"length": n, "accuracy": a} | way for n, a in curve.items()]
    order = np.random.default_rng(0).permutation(len(rows))
    found = score_runs(records(runs, [rows[i] for i in order]))
    for row, curve in zip(found.sort("seed").iter_rows(named=True), curves, strict=True):
        points = [Accuracy(n, a, 0.0) for n, a in curve.items()]
        for mine, theirs in (
            (row["score"], score(points, seen)),
            (row["in_domain"], in_domain(points, seen)),
        ):
            assert (mine is None) == (theirs is None)
            assert mine is None or mine == pytest.approx(theirs, abs=1e-12)


def test_all_runs_of_the_paper_are_scored_right() -> None:
    store = many_records(lengths=60, seeds=1)
    found = dict(score_runs(store).select("run", "score").iter_rows())
    for (name,), part in store.accuracies.group_by("run"):
        curve = [Accuracy(*row) for row in part.select("length", "accuracy", "whole").iter_rows()]
        assert found[name] == pytest.approx(score(curve, 40), abs=1e-12)


def test_the_largest_test_counts() -> None:
    one = run("even_pairs", "none")
    small, large = accuracies_of(one, 0.5, batch=16), accuracies_of(one, 0.75, batch=500)
    odd = accuracies_of(one, 0.9, batch=500, seed=3)
    (row,) = score_runs(records([one], [*small, *odd, *large])).iter_rows(named=True)
    assert (row["score"], row["tested_batch"], row["tested_seed"]) == (0.75, 500, 0)


def test_a_coarse_test_on_more_examples_does_not_count() -> None:
    one = run("even_pairs", "none")
    fine = [*accuracies_of(one, 0.5, batch=16), {**accuracies_of(one, 0.5, batch=16)[0]}]
    fine[-1]["length"] = 250
    coarse = accuracies_of(one, 0.75, batch=1000)
    (row,) = score_runs(records([one], [*fine, *coarse])).iter_rows(named=True)
    assert row["tested_batch"] == 16


def test_accuracies_that_are_no_numbers_are_ignored() -> None:
    one = run("even_pairs", "none")
    rows = accuracies_of(one, 0.5)
    rows.append({**rows[0], "length": 300, "accuracy": math.nan})
    assert score_runs(records([one], rows))["score"].item() == 0.5


def test_best_mean_and_sd_of_a_cell() -> None:
    found = {1e-4: [0.6, 0.7, 0.8], 3e-4: [0.1, 0.9, 0.2]}
    results = [
        (run("even_pairs", "none", seed, rate), value)
        for rate, values in found.items()
        for seed, value in enumerate(values)
    ]
    (cell,) = cells(score_runs(scored(results))).iter_rows(named=True)
    assert cell["best"] == 0.9
    assert (cell["best_rate"], cell["best_seed"]) == (3e-4, 1)
    assert cell["rate"] == 1e-4
    assert cell["mean"] == pytest.approx(0.7)
    assert cell["sd"] == pytest.approx(0.1)  # by n - 1; by n it would be 0.0816
    assert (cell["runs"], cell["seeds"], cell["rates"], cell["rate_seeds"]) == (6, 3, 2, 3)


def test_ties_go_to_the_lower_rate_and_seed() -> None:
    values = {(3e-4, 1): 0.5, (1e-4, 1): 0.5, (1e-4, 0): 0.5, (3e-4, 0): 0.5}
    results = [(run("even_pairs", "none", seed, rate), v) for (rate, seed), v in values.items()]
    (cell,) = cells(score_runs(scored(results))).iter_rows(named=True)
    assert (cell["best_rate"], cell["best_seed"], cell["rate"]) == (1e-4, 0, 1e-4)


def test_a_single_seed_has_no_sd() -> None:
    (cell,) = cells(score_runs(scored([(run("even_pairs", "none"), 0.5)]))).iter_rows(named=True)
    assert cell["mean"] == 0.5
    assert cell["sd"] is None


def test_only_complete_runs_count() -> None:
    runs = [
        run("even_pairs", "none", seed, status=status)
        for seed, status in enumerate(["diverged", "failed", "unfinished", "complete"])
    ]
    results = [(one, 0.9) for one in runs[:3]] + [(runs[3], 0.4)]
    (cell,) = cells(score_runs(scored(results))).iter_rows(named=True)
    assert (cell["best"], cell["runs"]) == (0.4, 1)


@pytest.mark.parametrize(
    "other",
    [
        {"steps": 2000},
        {"batch": 64},
        {"training_length": 20},
        {"test_length": 100},
        {"config": {"clip": 0.5}},
        {"config": {"model": USUAL["model"] | {"layers": 2}}},
        {"config": {"lengths": USUAL["lengths"] | {"name": "fixed"}}},
        {"maximum": 1024},
        {"reading": "released"},
        {"draw": "per_layer"},
    ],
    ids=json.dumps,
)
def test_runs_that_differ_in_more_than_seed_and_rate_never_share_a_cell(other: dict) -> None:
    name = "randomized-relative"
    pair = [(run("even_pairs", name), 0.5), (run("even_pairs", name, **other), 0.9)]
    found = cells(score_runs(scored(pair)))
    assert sorted(found["best"]) == [0.5, 0.9]
    assert found["runs"].to_list() == [1, 1]


def test_a_partly_tested_run_is_not_mixed_with_a_whole_one() -> None:
    runs = [run("even_pairs", "none", seed) for seed in (0, 1)]
    part = [row for row in accuracies_of(runs[0], 0.9) if row["length"] < 500]
    found = cells(score_runs(records(runs, [*part, *accuracies_of(runs[1], 0.5)])))
    assert found.sort("test_length")["test_length"].to_list() == [41, 500]


def test_L_means_nothing_to_ordinal_positions() -> None:  # noqa: N802
    pair = [(run("even_pairs", "relative", i, maximum=size), 0.5) for i, size in enumerate([8, 9])]
    found = score_runs(scored(pair))
    assert found["maximum"].to_list() == [None, None]
    assert cells(found).height == 1
    assert usual(found).height == 2


def test_the_same_training_under_two_L_is_one_seed() -> None:  # noqa: N802
    found = score_runs(scored([(run("even_pairs", "sincos", maximum=L), 0.5) for L in (8, 9)]))
    (row,) = cells(found).iter_rows(named=True)
    assert (row["seeds"], row["runs"], row["rate_seeds"], row["sd"]) == (1, 1, 1, None)
    assert by_seed(found, cells(found)).height == 1


def test_budgets_come_largest_first_and_the_papers_before_others() -> None:
    kinds = [
        {"steps": 100},
        {"steps": 5000, "training_length": 20},
        {"steps": 9000, "config": {"clip": 0.5}},
        {"steps": 2000},
    ]
    store = score_runs(scored([(run("even_pairs", "none", **kind), 0.5) for kind in kinds]))
    found = budgets(store)
    assert [budget.steps for budget in found] == [2000, 100, 5000, 9000]
    assert within(store, found[0])["steps"].to_list() == [2000]
    assert within(store, None).height == 0


def test_broken_rows_of_a_packed_store_are_left_out() -> None:
    good = run("even_pairs", "none", config={})
    bad = [
        run("even_pairs", "none", 1) | {"task": None},
        run("even_pairs", "none", 2) | {"learning_rate": math.inf},
        run("even_pairs", "none", 3) | {"config": "{", "environment": None, "curve": None},
    ]
    found = score_runs(scored([(good, 0.5), *((one, 0.9) for one in bad)]))
    assert sorted(found["seed"]) == [0, 3]
    assert found.filter(pl.col("seed") == 3)["variant"].item() == "unreadable configuration"

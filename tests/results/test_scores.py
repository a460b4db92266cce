"""Scores of all runs at once, the test that counts, and what a cell makes of its runs."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from randpos import Experiment, Run
from randpos.results.scores import cells, counted_accuracies, score_runs
from randpos.store.accuracies import write_accuracies
from randpos.store.result import Accuracy
from randpos.store.tables import StoreTables, read_store
from randpos.training.mean_accuracy import in_domain, score
from tests.experiments import tiny
from tests.results.stores import USUAL, accuracies_of, many_records, records, run, scored
from tests.sweeps import synthetic


def only(frame: pl.DataFrame) -> dict[str, Any]:
    (row,) = frame.iter_rows(named=True)
    return row


def test_scores_of_a_store_are_those_of_its_runs() -> None:
    store = many_records(lengths=80, seeds=1)
    found = score_runs(store)
    for name, *means in found.sample(40, seed=0).select("run", "score", "in_domain").iter_rows():
        own = store.accuracies.filter(pl.col("run") == name)
        points = [Accuracy(n, a, 0.0) for n, a in own.select("length", "accuracy").iter_rows()]
        expected = score(points, 40, 80), in_domain(points, 40)
        assert means == [pytest.approx(value, abs=1e-12) for value in expected]


def test_a_later_test_of_the_training_lengths_takes_no_run_out_of_tables_or_curves() -> None:
    # As `randpos evaluate RUN --max-length 40` with another batch writes it.
    experiment = run("even_pairs", "none")
    short = [
        {**accuracies_of(experiment, 0.9)[0], "length": n, "batch": 1000} for n in range(1, 41)
    ]
    store = records([experiment], [*accuracies_of(experiment, 0.75), *short])
    found = score_runs(store)
    assert (only(found)["score"], only(found)["tested_batch"]) == (0.75, 500)
    assert set(counted_accuracies(store, found)["tested_batch"]) == {500}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"batch": 500}, {"batch": 16}),
        ({"batch": 500, "seed": 0}, {"batch": 500, "seed": 3}),
    ],
)
def test_of_equally_many_lengths_the_larger_batch_and_the_smaller_seed_count(
    first: dict, second: dict
) -> None:
    experiment = run("even_pairs", "none")
    rows = [*accuracies_of(experiment, 0.5, **second), *accuracies_of(experiment, 0.75, **first)]
    assert only(score_runs(records([experiment], rows)))["score"] == 0.75


def test_more_lengths_count_more_than_more_examples() -> None:
    experiment = run("even_pairs", "none")
    fine = accuracies_of(experiment, 0.5, batch=16)
    fine.append({**fine[-1], "length": 250})
    coarse = accuracies_of(experiment, 0.75, batch=1000)
    assert only(score_runs(records([experiment], [*fine, *coarse])))["tested_batch"] == 16


@pytest.mark.parametrize(("older", "newer"), [(2, 7), (7, 2)])
def test_accuracies_of_two_versions_of_the_numerics_are_never_mixed(
    older: int, newer: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = synthetic.write_run(tmp_path, tiny(), lengths=[])
    for version, accuracy in ((older, 0.25), (newer, 0.75)):
        monkeypatch.setattr("randpos.store.accuracies.VERSION", version)
        # The older test has a length more, which must not enter the newer one.
        lengths = (1, 4, 5, 6) if version == 7 else (1, 4, 5, 6, 3)
        rows = [Accuracy(n, accuracy, 0.0) for n in lengths]
        write_accuracies(trained.path, tiny(), rows)
    monkeypatch.setattr("randpos.store.accuracies.VERSION", 7)
    store = read_store(tmp_path)
    row = only(score_runs(store))
    own = Run((trained,))
    assert row["tested_numerics"] == 7
    assert (row["score"], row["in_domain"]) == (own.score(), own.in_domain())
    assert row["score"] == (0.75 if newer == 7 else 0.25)
    assert set(counted_accuracies(store, score_runs(store))["accuracy"]) == {row["score"]}


def test_a_version_that_was_recorded_counts_more_than_none() -> None:
    # Stores of before do not say under which version a run was tested.
    experiment = run("even_pairs", "none")
    rows = [
        *accuracies_of(experiment, 0.5, numerics=None),
        *accuracies_of(experiment, 0.75, numerics=7),
    ]
    assert only(score_runs(records([experiment], rows)))["score"] == 0.75
    older = rows[:4]
    assert only(score_runs(records([experiment], older)))["score"] == 0.5


def test_a_run_that_was_not_tested_up_to_its_end_has_no_score() -> None:
    experiment = run("even_pairs", "none")
    part = [row for row in accuracies_of(experiment, 0.9) if row["length"] < 500]
    row = only(score_runs(records([experiment], part)))
    assert (row["score"], row["in_domain"]) == (None, 1.0)


def test_draws_of_positions_are_told_apart_and_their_error_is_used() -> None:
    experiment = run("even_pairs", "none")
    store = scored([(experiment, 0.5)])
    many = store.accuracies.with_columns(
        accuracy=pl.lit(0.75), draws=pl.lit(4, pl.Int32), error=pl.lit(0.1)
    )
    assert only(score_runs(store))["score_error"] is None
    row = only(score_runs(StoreTables(store.runs, pl.concat([store.accuracies, many]))))
    assert (row["score"], row["tested_draws"]) == (0.75, 4)
    # Two tested lengths that weigh 229.5 + 0.5 of 460 each.
    assert row["score_error"] == pytest.approx(0.1 / 2**0.5)


def test_best_mean_and_sd_of_a_cell() -> None:
    found = {1e-4: [0.6, 0.7, 0.8], 3e-4: [0.1, 0.9, 0.2]}
    results = [
        (run("even_pairs", "none", seed, rate), value)
        for rate, values in found.items()
        for seed, value in enumerate(values)
    ]
    cell = only(cells(score_runs(scored(results))))
    assert (cell["best"], cell["best_rate"], cell["best_seed"]) == (0.9, 3e-4, 1)
    assert (cell["rate"], cell["mean"]) == (1e-4, pytest.approx(0.7))
    assert cell["sd"] == pytest.approx(0.1)  # by n - 1; by n it would be 0.0816
    assert (cell["runs"], cell["seeds"], cell["rates"], cell["rate_seeds"]) == (6, 3, 2, 3)


def test_one_lucky_seed_does_not_choose_the_rate() -> None:
    results = [(run("even_pairs", "none", seed, 3e-4), 0.6) for seed in range(10)]
    results.append((run("even_pairs", "none", 0, 1e-4), 0.9))
    cell = only(cells(score_runs(scored(results))))
    assert (cell["rate"], cell["rate_seeds"]) == (3e-4, 10)
    assert cell["mean"] == pytest.approx(0.6)
    assert cell["best"] == 0.9


def test_ties_go_to_the_lower_rate_and_seed() -> None:
    values = {(3e-4, 1): 0.5, (1e-4, 1): 0.5, (1e-4, 0): 0.5, (3e-4, 0): 0.5}
    results = [(run("even_pairs", "none", seed, rate), v) for (rate, seed), v in values.items()]
    cell = only(cells(score_runs(scored(results))))
    assert (cell["best_rate"], cell["best_seed"], cell["rate"]) == (1e-4, 0, 1e-4)


def test_only_complete_runs_count() -> None:
    states = ["diverged", "failed", "unfinished", "complete"]
    runs = [run("even_pairs", "none", seed, status=status) for seed, status in enumerate(states)]
    results = [(experiment, 0.9) for experiment in runs[:3]] + [(runs[3], 0.4)]
    cell = only(cells(score_runs(scored(results))))
    assert (cell["best"], cell["runs"], cell["sd"]) == (0.4, 1, None)


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


def test_the_same_training_under_two_maxima_is_one_seed() -> None:
    # L has no effect on ordinal positions.
    found = score_runs(scored([(run("even_pairs", "sincos", maximum=L), 0.5) for L in (8, 9)]))
    assert found["maximum"].to_list() == [None, None]
    cell = only(cells(found))
    assert (cell["seeds"], cell["runs"], cell["rate_seeds"], cell["sd"]) == (1, 1, 1, None)


def test_a_setting_that_an_older_run_lacks_has_its_default() -> None:
    config = Experiment().to_dict()
    del config["clip"]
    found = score_runs(scored([(run("even_pairs", "none") | {"config": json.dumps(config)}, 0.5)]))
    assert only(found)["variant"] == ""


@pytest.mark.parametrize(
    ("task", "level", "learnt"),
    [
        ("even_pairs", 0.55, False),
        ("even_pairs", 0.7, True),
        # A fifth of the digits, but a constant 0 is right in more than a quarter of the cases.
        ("modular_arithmetic", 0.35, False),
        ("modular_arithmetic", 0.5, True),
        # From length 20 to 40 the place of a sorted token is right 69 to 78 times of 100.
        ("bucket_sort", 0.8, False),
        ("bucket_sort", 0.9, True),
        ("mine:Task", 0.1, None),
    ],
)
def test_learnt_is_beyond_guessing_on_the_longer_training_lengths(
    task: str, level: float, learnt: bool | None
) -> None:
    experiment = run(task, "none")
    rows = accuracies_of(experiment, 0.5)
    # Short inputs are learnt by heart.
    rows += [{**rows[0], "length": n, "accuracy": 1.0 if n < 15 else level} for n in range(2, 41)]
    found = score_runs(
        records([experiment], [row for row in rows if row["accuracy"] < 1 or row["length"] < 15])
    )
    assert only(found)["learnt"] is learnt


def curve(experiment: dict, values: list[float]) -> list[dict]:
    """Accuracies beyond N, and 1 at length 1."""
    return [
        {**accuracies_of(experiment, 0.5)[0], "length": n, "accuracy": value}
        for n, value in zip((1, 41, 200, 350, 500), [1.0, *values], strict=True)
    ]


def test_constant_answers_are_the_same_accuracies_near_chance_in_two_runs() -> None:
    guesses = [0.47, 0.52, 0.55, 0.5]
    kinds = {
        "none": (guesses, True),
        "rope": (guesses, True),
        "relative": ([0.47, 0.52, 0.55, 0.51], False),
        "sincos": ([1.0] * 4, False),
        "alibi": ([1.0] * 4, False),
    }
    runs = {name: run("even_pairs", name) for name in kinds}
    rows = [row for name, experiment in runs.items() for row in curve(experiment, kinds[name][0])]
    other = run("parity_check", "none")  # other examples
    found = score_runs(records([*runs.values(), other], [*rows, *curve(other, guesses)]))
    flags = {
        (task, name): bool(flag)
        for task, name, flag in found.select("task", "encoding", "constant").iter_rows()
    }
    assert flags == {("even_pairs", n): flag for n, (_, flag) in kinds.items()} | {
        ("parity_check", "none"): False
    }


@pytest.mark.parametrize(
    ("runs", "constant"),
    [
        ([run("even_pairs", "sincos", maximum=L) for L in (8, 9)], False),  # L has no effect
        ([run("even_pairs", "randomized-sincos", maximum=L) for L in (8, 9)], True),
        ([run("even_pairs", "sincos", seed) for seed in (0, 1)], True),
    ],
)
def test_a_training_does_not_confirm_its_own_constant_answers(
    runs: list[dict], constant: bool
) -> None:
    rows = [row for experiment in runs for row in curve(experiment, [0.47, 0.52, 0.55, 0.5])]
    assert score_runs(records(runs, rows))["constant"].to_list() == [constant] * 2


@pytest.mark.parametrize(
    ("recorded", "found"),
    [
        ((False, True, True, True, True), True),  # within the training lengths it does not matter
        ((True, True, True, False, True), False),
        ((None, True, True, True, None), False),  # one length was tested before it was recorded
    ],
)
def test_what_a_test_recorded_of_constant_answers_needs_no_second_run(
    recorded: tuple[bool | None, ...], found: bool
) -> None:
    alone = run("even_pairs", "rope")
    rows = curve(alone, [0.47, 0.52, 0.55, 0.5])
    marked = [row | {"constant": flag} for row, flag in zip(rows, recorded, strict=True)]
    assert score_runs(records([alone], marked))["constant"].to_list() == [found]


def test_recorded_answers_that_vary_are_not_constant_even_if_two_runs_agree() -> None:
    runs = [run("even_pairs", "rope", seed) for seed in (0, 1)]
    rows = [row | {"constant": False} for r in runs for row in curve(r, [0.47, 0.52, 0.55, 0.5])]
    assert score_runs(records(runs, rows))["constant"].to_list() == [False, False]


def test_constant_answers_may_be_more_frequent_than_chance() -> None:
    # About 0.31 of the answers to modular_arithmetic are 0, of five.
    runs = [run("modular_arithmetic", "none", seed) for seed in range(3)]
    rows = [row for r in runs[:2] for row in curve(r, [0.3, 0.34, 0.31, 0.33])]
    found = score_runs(records(runs, [*rows, *curve(runs[2], [0.4, 0.3, 0.31, 0.33])]))
    assert found["constant"].to_list() == [True, True, False]
    cell = only(cells(found))
    assert (cell["constant"], cell["runs"]) == (2, 3)

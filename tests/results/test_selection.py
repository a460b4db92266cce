import dataclasses

import numpy as np
import polars as pl
import pytest

from randpos import Accuracy, Architecture, Evaluation, Experiment, PositionOptions, Schedule
from randpos.results.selection import best_runs, comparable, scores
from randpos.results.selection import tested as as_tested
from randpos.training.evaluation import score
from tests.results.figures.synthetic import join, records

BASE = Experiment(steps=100, test_length=60)


def run(**changes) -> Experiment:
    return dataclasses.replace(BASE, **changes)


def flat(value: float, lengths=(1, 40, 41, 60)) -> list[tuple[int, float]]:
    return [(n, value) for n in lengths]


def test_runs_of_the_largest_budget_are_kept() -> None:
    small = [run(seed=seed) for seed in range(3)]
    large = [run(seed=seed, steps=900) for seed in range(2)]
    foreign = [
        run(steps=9000, model=Architecture(layers=1)),
        run(steps=9000, lengths=Schedule("uniform", 50)),
    ]
    store = records((one, flat(0.5), 1.0) for one in [*small, *large, *foreign])
    assert set(comparable(store.runs)["run"]) == {one.digest for one in large}


def test_runs_that_differ_in_task_encoding_seed_or_rate_are_comparable() -> None:
    alike = [
        run(),
        run(seed=1),
        run(learning_rate=1e-4),
        run(encoding="relative"),
        run(task="even_pairs"),
        run(evaluation=Evaluation(batch=7), seed=5),
    ]
    store = records((one, flat(0.5), 1.0) for one in alike)
    assert comparable(store.runs).height == len(alike)


@pytest.mark.parametrize(
    "change", [{"batch": 5}, {"lengths": Schedule("fixed", 30)}, {"clip": 2.0}]
)
def test_runs_that_differ_in_anything_else_are_not(change) -> None:
    store = records((one, flat(0.5), 1.0) for one in (run(), run(seed=1), run(**change)))
    assert comparable(store.runs).height == 2


def test_another_maximum_is_left_out_of_randomized_runs_only() -> None:
    other = PositionOptions(maximum=4096)
    some = [run(), run(seed=1), run(positions=other)]
    plain = run(encoding="relative", positions=other)
    store = records((one, flat(0.5), 1.0) for one in [*some, plain])
    assert set(comparable(store.runs)["run"]) == {one.digest for one in [*some[:2], plain]}
    assert comparable(store.runs, drawn_alike=False).height == 4


def test_runs_that_did_not_complete_are_left_out() -> None:
    store = join(
        records([(run(), flat(0.5), 1.0)]),
        records([(run(seed=1), flat(0.5), 1.0)], status="diverged"),
    )
    assert comparable(store.runs)["seed"].to_list() == [0]
    assert comparable(store.runs.clear()).is_empty()


def test_the_densest_way_of_testing_counts() -> None:
    dense, sparse = flat(0.5, (1, 20, 40, 60)), flat(0.9, (1, 60))
    few, many = Evaluation(batch=16), Evaluation(batch=500)
    store = join(
        records([(run(evaluation=few), dense, 1.0)]),
        records([(run(evaluation=many), sparse, 1.0)]),
    )
    assert as_tested(store)["accuracy"].unique().to_list() == [0.5]


def test_scores_are_those_of_evaluation() -> None:
    rng = np.random.default_rng(0)
    points = [(n, float(rng.random())) for n in (1, 7, 40, 41, 44, 51, 60)]
    store = records([(run(), points, 1.0)])
    expected = score([Accuracy(n, value, 0.0) for n, value in points], 40)
    assert scores(store, store.runs)["score"].item() == pytest.approx(expected)


def test_other_lengths_can_be_scored_and_are_interpolated() -> None:
    store = records([(run(), [(1, 0.0), (11, 1.0), (60, 1.0)], 1.0)])
    found = scores(store, store.runs, first=1, last=11)
    assert found["score"].item() == pytest.approx(np.arange(11).mean() / 10)


def test_runs_without_all_lengths_have_no_score() -> None:
    store = records([(run(), flat(0.5, (1, 40, 41, 59)), 1.0), (run(seed=1), [], 1.0)])
    assert scores(store, store.runs).is_empty()


def test_the_best_run_has_the_highest_score_and_ties_go_to_the_lower_rate() -> None:
    low, high = run(learning_rate=1e-4), run(learning_rate=5e-4)
    poor = run(seed=3)
    store = records([(high, flat(0.8), 1.0), (low, flat(0.8), 1.0), (poor, flat(0.7), 1.0)])
    best = best_runs(scores(store, store.runs), ["task", "encoding"])
    assert best["run"].to_list() == [low.digest]
    assert isinstance(best, pl.DataFrame)

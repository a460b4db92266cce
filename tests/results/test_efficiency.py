import dataclasses

import numpy as np
import polars as pl
import pytest

from randpos import Architecture, Experiment, PositionOptions, Schedule, UserError
from randpos.results.efficiency import compare_efficiency, time_to
from randpos.store.tables import StoreTables
from tests.results.figures.synthetic import join, records

BASE = Experiment(task="missing_duplicate", encoding="randomized-relative", steps=1000)
LONG = dataclasses.replace(BASE, encoding="relative", lengths=Schedule("uniform", 500))


def trained(base: Experiment, value: float, seconds: float, **changes) -> StoreTables:
    experiment = dataclasses.replace(base, **changes)
    points = [(1, 1.0), (40, 1.0), (41, value), (500, value)]
    curve = [[experiment.steps // 2, 0.5, 0.6], [experiment.steps, 0.1, 0.95]]
    return records([(experiment, points, seconds)], curve=curve)


def test_speeds_times_and_their_ratios() -> None:
    store = join(
        trained(BASE, 0.5, 5.0, steps=500),
        trained(BASE, 0.95, 10.0),
        trained(LONG, 0.6, 40.0, steps=500),
        trained(LONG, 0.92, 80.0),
    )
    found = compare_efficiency(store)
    assert found.lengths == (41, 500)
    assert found.short.steps_per_second == 100.0
    assert found.long.steps_per_second == 12.5
    assert found.speed_ratio == 8.0
    times = 5.0 * 2 ** ((0.9 - 0.5) / 0.45), 40.0 * 2 ** ((0.9 - 0.6) / 0.32)
    assert found.time_ratio == pytest.approx(times[1] / times[0])
    np.testing.assert_allclose(found.short.test, [[5.0, 0.5], [10.0, 0.95]])
    # Where the curve stands in time follows from the steps.
    np.testing.assert_allclose(found.long.training, [[40.0, 0.6], [80.0, 0.95]])


def test_the_best_seed_is_followed_through_its_budgets() -> None:
    store = join(
        trained(BASE, 0.99, 5.0, steps=500, seed=1),  # better, but not of the best long run
        trained(BASE, 0.7, 6.0, steps=500),
        trained(BASE, 0.95, 12.0),
        trained(BASE, 0.8, 10.0, seed=1),
        trained(LONG, 0.95, 80.0),
    )
    found = compare_efficiency(store).short
    assert found.seed == 0
    np.testing.assert_allclose(found.test, [[6.0, 0.7], [12.0, 0.95]])


def test_one_lucky_seed_does_not_choose_the_rate() -> None:
    runs = [trained(BASE, 0.94, 10.0, seed=seed, learning_rate=1e-4) for seed in range(3)]
    lucky = trained(BASE, 0.99, 10.0, seed=3, learning_rate=5e-4)
    found = compare_efficiency(join(*runs, lucky, trained(LONG, 0.95, 80.0))).short
    assert (found.learning_rate, found.seed) == (1e-4, 0)


def test_only_runs_of_one_model_and_batch_are_compared() -> None:
    small = Architecture(dim=16)
    store = join(
        trained(BASE, 0.6, 10.0),
        trained(BASE, 0.99, 1.0, model=small),
        trained(BASE, 0.99, 1.0, batch=256),
        trained(LONG, 0.95, 80.0),
        trained(LONG, 0.95, 1.0, batch=64),
    )
    found = compare_efficiency(store)
    assert found.speed_ratio == 8.0
    with pytest.raises(UserError, match="share no model and batch"):
        compare_efficiency(join(trained(BASE, 0.6, 1.0), trained(LONG, 0.6, 1.0, batch=64)))


def test_a_short_run_that_was_tested_less_far_does_not_shorten_the_others() -> None:
    brief = trained(BASE, 0.99, 1.0, steps=10, test_length=60)
    found = compare_efficiency(join(brief, trained(BASE, 0.6, 10.0), trained(LONG, 0.95, 80.0)))
    assert found.lengths == (41, 500)


def test_runs_of_another_experiment_are_left_out() -> None:
    store = join(
        trained(BASE, 0.6, 10.0),
        trained(BASE, 0.99, 1.0, positions=PositionOptions(maximum=8192)),
        trained(BASE, 0.99, 1.0, positions=PositionOptions(reading="distances")),
        trained(BASE, 0.99, 1.0, task="reverse_string"),
        trained(LONG, 0.95, 80.0),
        trained(LONG, 0.99, 1.0, lengths=Schedule()),
    )
    found = compare_efficiency(store)
    np.testing.assert_allclose(found.short.test, [[10.0, 0.6]])
    np.testing.assert_allclose(found.long.test, [[80.0, 0.95]])
    assert found.time_ratio is None


def test_tests_along_the_way_make_the_curve_of_a_run() -> None:
    store = join(trained(BASE, 0.95, 10.0), trained(LONG, 0.92, 80.0))
    short = store.runs.filter(pl.col("encoding") == "randomized-relative")["run"].item()
    tests = pl.DataFrame(
        {
            "run": [short] * 6,
            "step": [250, 250, 500, 500, 1000, 1000],
            "length": [41, 500] * 3,
            "accuracy": [0.4, 0.6, 0.7, 0.9, 0.9, 1.0],
        }
    )
    found = compare_efficiency(store._replace(tests=tests))
    np.testing.assert_allclose(found.short.test, [[2.5, 0.5], [5.0, 0.8], [10.0, 0.95]])
    np.testing.assert_allclose(found.long.test, [[80.0, 0.92]])  # its last test only


def test_time_to_a_threshold_is_that_of_the_first_crossing() -> None:
    curve = np.array([[1.0, 0.5], [2.0, 0.8], [4.0, 1.0], [5.0, 0.8], [6.0, 0.99]])
    assert time_to(curve) == pytest.approx(8**0.5)  # half way from 2 to 4
    assert time_to(curve, 0.8) == pytest.approx(2.0)
    assert time_to(curve, 0.4) is None  # before the first test
    assert time_to(curve[:2], 0.9) is None  # never
    assert time_to(curve[:0]) is None


@pytest.mark.parametrize(
    ("store", "words"),
    [
        (trained(LONG, 0.9, 1.0), "No complete run of randomized-relative"),
        (trained(BASE, 0.9, 1.0), "No complete run of relative"),
        (
            join(trained(BASE, 0.9, 1.0), trained(LONG, 0.9, 1.0, lengths=Schedule())),
            "not been trained on missing_duplicate beyond the length 40",
        ),
        (
            join(trained(BASE, 0.9, 1.0), records([(LONG, [], 1.0)])),
            "relative on missing_duplicate have not been tested over the lengths 41 to 500",
        ),
    ],
)
def test_what_is_missing_is_said_with_the_command_that_makes_it(
    store: StoreTables, words: str
) -> None:
    with pytest.raises(UserError, match=words) as raised:
        compare_efficiency(store)
    assert "run randpos reproduce efficiency first" in str(raised.value)


def test_runs_with_tests_along_the_way_come_first_and_show_all_their_seeds() -> None:
    drawn = PositionOptions(reading="distances", draw="per_layer")
    store = join(
        trained(BASE, 0.99, 1.0),  # as in the paper's text, but not followed
        trained(BASE, 0.95, 10.0, positions=drawn),
        trained(BASE, 0.93, 10.0, positions=drawn, seed=1),
        trained(LONG, 0.92, 80.0),
    )
    followed = store.runs.filter(pl.col("seconds") == 10.0).sort("seed")["run"].to_list()
    half = [0.6, 0.5]
    tests = pl.DataFrame(
        {
            "run": [run for run in followed for _ in range(4)],
            "step": [500, 500, 1000, 1000] * 2,
            "length": [41, 500] * 4,
            "accuracy": [half[0]] * 2 + [1.0] * 2 + [half[1]] * 2 + [1.0] * 2,
        }
    )
    found = compare_efficiency(store._replace(tests=tests)).short
    assert found.seed == 0
    assert found.reading == "distances, per layer"
    np.testing.assert_allclose(found.test, [[5.0, 0.6], [10.0, 1.0]])
    np.testing.assert_allclose(np.array(found.others), [[[5.0, 0.5], [10.0, 1.0]]])
    expected = [5.0 * 2 ** ((0.9 - low) / (1.0 - low)) for low in half]
    np.testing.assert_allclose(np.array(found.times, float), expected)
    np.testing.assert_allclose(found.training, [[5.0, 0.6], [10.0, 0.95]])
    assert found.time == pytest.approx(sum(expected) / 2)
    never = found._replace(others=(found.others[0][:1],))
    assert never.time is None

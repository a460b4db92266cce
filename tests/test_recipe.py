"""The budgets of ours, and an L that is chosen by the task."""

import dataclasses

import pytest

from randpos import UserError, preset, train
from randpos.experiment import PRESETS
from randpos.settings import PositionOptions
from randpos.setup import choose_maximum, resolve
from randpos.sweeps.grid import Grid
from randpos.tasks import PAPER_TASKS
from tests.experiments import tiny

AUTO = PositionOptions(maximum=0)


@pytest.mark.parametrize("budget", PRESETS)
def test_every_budget_fits_every_task_of_the_paper(budget):
    for task in PAPER_TASKS:
        resolve(dataclasses.replace(preset(budget), task=task, encoding="randomized-relative"))


@pytest.mark.parametrize("budget", ["laptop", "overnight"])
def test_lengths_grow_to_n_within_the_first_third(budget):
    experiment = preset(budget)
    lengths = experiment.lengths
    grown = (lengths.maximum - lengths.initial) * lengths.every / lengths.increase
    assert 0.2 <= grown / experiment.steps <= 1 / 3


@pytest.mark.parametrize(
    ("task", "tokens"), [("even_pairs", 201), ("reverse_string", 400), ("duplicate_string", 600)]
)
def test_auto_is_twice_the_longest_tested_sequence(task, tokens):
    experiment = dataclasses.replace(preset("laptop"), task=task)
    assert choose_maximum(experiment).positions.maximum == 2 * tokens


def test_a_run_with_auto_is_the_run_with_the_number(tmp_path):
    auto = tiny(positions=AUTO)
    number = choose_maximum(auto)
    run = train(auto, store=tmp_path)
    assert run.experiment() == number
    assert run.folders[0].path.name == number.digest
    fixed = {"task": auto.task, "test_length": 60, "positions.maximum": "auto"}
    (expanded,) = Grid("mine", fixed, {}).expand()
    assert expanded.positions.maximum == 2 * 120


def test_a_grid_takes_l_as_a_multiple_of_the_longest_tested_sequence():
    fixed = {"task": "even_pairs", "test_length": 200}
    ratios = ["1x", "1.25x", "2x", "40x", "auto", 77000]
    found = Grid("mine", fixed, {"positions.maximum": ratios}).expand()
    assert [e.positions.maximum for e in found] == [201, 252, 402, 8040, 402, 77000]


@pytest.mark.parametrize("bad", ["x", "0.5x", "2", "nanx", "infx"])
def test_a_multiple_that_is_none_is_refused(bad):
    with pytest.raises(UserError, match="a multiple of the longest tested sequence"):
        Grid("mine", {"positions.maximum": bad}, {}).expand()


def test_a_run_without_a_chosen_l_has_no_name():
    with pytest.raises(UserError, match=r"positions.maximum=0 \(auto\) is not chosen yet"):
        _ = tiny(positions=AUTO).digest

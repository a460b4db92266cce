"""Members of an ensemble are the runs that they would be alone."""

import json

import jaxtyping
import numpy as np
import pytest
import safetensors.numpy

from randpos import UserError
from tests.experiments import tiny
from tests.training.runs import RATES, members, stop_at, train

pytestmark = pytest.mark.usefixtures("engines")


def test_mapped_members_are_bit_identical_to_singles(tmp_path, alone):
    assert members(train(tmp_path, seeds=[0, 1], rates=RATES, strategy="map")) == alone


def test_stacked_members_agree_with_singles(tmp_path, alone):
    # Products of stacked matrices round otherwise, and training magnifies it: after 250 steps
    # parameters of size 1 agree to 1e-3, and losses to 1 %.
    found = members(train(tmp_path, seeds=[0, 1], rates=RATES, strategy="vmap"))
    assert found.keys() == alone.keys()
    for who, (parameters, metrics) in found.items():
        mine, theirs = (safetensors.numpy.load(p) for p in (parameters, alone[who][0]))
        for name in mine:
            np.testing.assert_allclose(mine[name], theirs[name], atol=1e-3)
        for first, two in zip(metrics.splitlines(), alone[who][1].splitlines(), strict=True):
            assert json.loads(first)["loss"] == pytest.approx(json.loads(two)["loss"], rel=1e-2)


def test_members_come_in_the_order_of_seeds_then_rates(tmp_path):
    run = train(tmp_path, tiny(steps=1), seeds=[5, 3], rates=RATES)
    order = [(run.experiment(i).seed, run.experiment(i).learning_rate) for i in range(4)]
    assert order == [(5, 1e-2), (5, 1e-3), (3, 1e-2), (3, 1e-3)]


def test_a_member_added_later_equals_one_of_the_first(tmp_path, alone):
    train(tmp_path, seeds=[0], rates=RATES)
    assert members(train(tmp_path, seeds=[0, 1], rates=RATES)) == alone


@pytest.mark.parametrize("strategy", ["map", "vmap"])
def test_members_at_different_steps_catch_up(tmp_path, alone, strategy):
    stop_at(150, tmp_path, seeds=[1])
    stop_at(50, tmp_path, seeds=[0])
    steps = []
    run = train(
        tmp_path,
        seeds=[0, 1],
        strategy=strategy,
        report=lambda p: steps.append((p.member, p.step)),
    )
    assert steps[0] == (0, 20)
    assert (1, 120) in steps
    assert (1, 100) not in steps
    if strategy == "map":
        assert members(run) == {who: alone[who] for who in ((0, 1e-2), (1, 1e-2))}


@pytest.mark.parametrize("options", [{"seeds": [1, 1]}, {"rates": [0.1, 0.1]}])
def test_a_member_may_not_come_twice(tmp_path, options):
    with pytest.raises(UserError, match="must not repeat"):
        train(tmp_path, **options)


def test_seeds_and_rates_may_be_numpys(tmp_path):
    jaxtyping.config.update("jaxtyping_disable", True)
    run = train(tmp_path, tiny(steps=1), seeds=np.arange(2), rates=np.full(1, 0.5))
    jaxtyping.config.update("jaxtyping_disable", False)
    assert run.experiment(1) == tiny(steps=1, seed=1, learning_rate=0.5)

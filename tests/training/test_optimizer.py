"""Schedules, averages, Muon and tests along the way: off they change nothing, on they are right."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from randpos import Evaluation, Experiment, Optimizer, UserError, train
from randpos.experiment import LATER
from randpos.plain_data import flat
from randpos.training.engine import Engine
from randpos.training.optimizer import make_optimizer, rate_factor, update_average
from randpos.training.step import make_member
from tests.experiments import random_model, tiny


def trained(folder, **changes):
    """Trains a tiny run and returns it with its metrics."""
    run = train(tiny(steps=200, **changes), store=folder)
    return run, run.metrics()


def test_tests_along_the_way_change_no_bit_of_training(tmp_path):
    plain, metrics = trained(tmp_path / "plain")
    tested, others = trained(tmp_path / "tested", evaluation=Evaluation(batch=16, every=100))
    assert metrics == others
    for a, b in zip(jax.tree.leaves(plain.model()), jax.tree.leaves(tested.model()), strict=True):
        np.testing.assert_array_equal(a, b)
    rows = tested.folders[0].lines("tests.jsonl")
    assert {row["step"] for row in rows} == {100, 200}
    assert not (plain.folders[0].path / "tests.jsonl").exists()


def test_the_last_test_on_the_way_is_a_test_of_the_trained_model(tmp_path):
    way = Evaluation(batch=64, every=100, every_batch=64)
    run, _ = trained(tmp_path, evaluation=way)
    rows = run.folders[0].lines("tests.jsonl")
    last = {row["length"]: row["accuracy"] for row in rows if row["step"] == 200}
    (points,) = run.evaluate(Evaluation(batch=64, draws=2))
    assert last
    assert last == {p.length: p.accuracy for p in points if p.length in last}


@pytest.mark.parametrize("every", [-100, 1, 150])
def test_tests_along_the_way_fall_between_chunks(every):
    with pytest.raises(UserError, match=f"evaluation.every={every} must be a multiple of 100"):
        Evaluation(every=every)


def test_the_kept_model_is_the_average_of_the_weights(tmp_path):
    """Against a loop over single steps in NumPy."""
    experiment = tiny(steps=100, optimizer=Optimizer(average=0.9))
    engine = Engine(experiment)
    who = make_member(experiment)
    state = engine.start(who)
    average = [np.asarray(x, np.float64) for x in jax.tree.leaves(state.parameters)]
    for step in range(100):
        state, _ = engine.advance(state, who, step, step + 1)
        decay = min(0.9, (1 + step) / (10 + step))
        now = [np.asarray(x, np.float64) for x in jax.tree.leaves(state.parameters)]
        average = [decay * a + (1 - decay) * p for a, p in zip(average, now, strict=True)]
    kept = train(experiment, store=tmp_path).model()
    for a, b in zip(average, jax.tree.leaves(kept), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_the_rate_warms_up_and_falls_along_a_cosine():
    options = Optimizer(warmup=100, final_rate=0.1)
    at = [float(rate_factor(options, 1100, jnp.asarray(step))) for step in (0, 49, 99, 100, 600)]
    assert at == pytest.approx([0.01, 0.5, 1.0, 1.0, 0.55], abs=1e-6)
    assert float(rate_factor(options, 1100, jnp.asarray(1100))) == pytest.approx(0.1)


def test_a_falling_rate_scales_the_update_of_each_step():
    experiment = tiny(steps=10, optimizer=Optimizer(final_rate=0.0))
    plain = dataclasses.replace(experiment, optimizer=Optimizer())
    who, moved = make_member(experiment), []
    for settings in (experiment, plain):
        engine = Engine(settings)
        start = engine.start(who)
        state, _ = engine.advance(start, who, 5, 6)
        moved.append(
            [b - a for a, b in zip(*map(jax.tree.leaves, (start[0], state[0])), strict=True)]
        )
    for falling, constant in zip(*moved, strict=True):
        np.testing.assert_allclose(falling, 0.5 * constant, atol=1e-7)


def test_muon_orthogonalizes_the_matrices_of_blocks_only():
    experiment = tiny(optimizer=Optimizer(name="muon"), clip=1e9)
    parameters: Any = eqx.filter(random_model(experiment), eqx.is_array)
    optimizer = make_optimizer(experiment)
    grads: Any = eqx.filter(random_model(experiment, seed=1), eqx.is_array)
    update = jax.jit(lambda g, p: optimizer.update(g, optimizer.init(p), p)[0])
    updates: Any = update(grads, parameters)
    weight = np.asarray(updates.blocks[0].query.weight)
    values = np.linalg.svd(weight, compute_uv=False)
    assert values.max() / values.min() < 2  # Newton-Schulz brings all singular values near one
    grads_of = np.linalg.svd(np.asarray(grads.blocks[0].query.weight), compute_uv=False)
    assert grads_of.max() / grads_of.min() > 2
    plain = optax.scale_by_adam(nesterov=True)
    adam: Any = plain.update(grads.embedding, plain.init(parameters.embedding))[0]
    np.testing.assert_allclose(updates.embedding, adam, rtol=1e-5)


def test_weight_decay_pulls_matrices_towards_zero_and_nothing_else():
    experiment = tiny(optimizer=Optimizer(weight_decay=0.1))
    parameters: Any = eqx.filter(random_model(experiment), eqx.is_array)
    optimizer = make_optimizer(experiment)
    zero = jax.tree.map(jnp.zeros_like, parameters)
    updates: Any = optimizer.update(zero, optimizer.init(parameters), parameters)[0]
    np.testing.assert_allclose(updates.embedding, 0.1 * parameters.embedding, rtol=1e-6)
    assert not np.any(updates.blocks[0].attention_norm.scale)


def test_update_average_forgets_the_start():
    start, goal = {"w": jnp.zeros(3)}, {"w": jnp.ones(3)}
    average = start
    for step in range(200):
        average = update_average(average, goal, 0.9, jnp.asarray(step))
    np.testing.assert_allclose(average["w"], 1.0, atol=1e-4)


@pytest.mark.parametrize("name", LATER)
def test_a_later_setting_names_a_run_only_where_it_is_used(name):
    table, _, field = name.rpartition(".")
    base = Experiment()
    assert flat(base.to_dict())[name] == LATER[name]
    others = {"adam": "muon", "parallel": "autoregressive", "0": 7, "False": True}
    others |= {"constant": "log"}
    change = {field: others.get(str(LATER[name]), 0.5)}
    if table:
        change = {table: dataclasses.replace(getattr(base, table), **change)}
    assert dataclasses.replace(base, **change).digest != base.digest


def test_digests_of_version_0_1_stay():
    """Recorded with version 0.1; a run is found again under its name."""
    assert Experiment().digest == "7c89267123643887"
    assert tiny().digest == "f6fdb74e8b38d1a9"

"""Packed parameters: the optimizer gives the same updates as on the model's own arrays."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest

from randpos import Optimizer, resolve
from randpos.training.optimizer import make_optimizer
from randpos.training.packing import Packing
from tests.experiments import SIZES, tiny


def same(left, right, **tolerance):
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_allclose(a, b, **tolerance)


@pytest.mark.parametrize("name", ["adam", "muon"])
def test_the_optimizer_gives_the_same_updates_on_packed_parameters(name):
    experiment = tiny(
        encoding="randomized-relative",
        model=dataclasses.replace(SIZES, layers=2, hidden=16),
        optimizer=Optimizer(name, weight_decay=0.5),
    )
    start = jax.jit(lambda key: eqx.filter(resolve(experiment).build(key), eqx.is_array))
    parameters, grads = (start(jax.random.key(seed)) for seed in (0, 1))
    optimizer = make_optimizer(experiment)
    packing = Packing(parameters, stack_blocks=name == "muon")

    def update_twice(grads, state, parameters) -> Any:
        _, state = optimizer.update(grads, state, parameters)
        return optimizer.update(grads, state, parameters)

    start_state = jax.jit(optimizer.init)(parameters)
    updates, state = jax.jit(update_twice)(grads, start_state, parameters)

    @jax.jit
    def update_packed(grads, state, parameters):
        packed = packing.pack(grads), packing.pack_state(state), packing.pack(parameters)
        found, packed_state = update_twice(*packed)
        return packing.unpack(found), packing.unpack_state(packed_state)

    found, found_state = update_packed(grads, start_state, parameters)
    # Muon's five iterations amplify the rounding, which differs between processors.
    same(found, updates, rtol=1e-4, atol=1e-5)
    same(found_state, state, rtol=1e-5, atol=1e-7)


def test_packing_changes_no_number():
    parameters = resolve(tiny(model=dataclasses.replace(SIZES, layers=3))).skeleton[0]
    numbers = jax.tree.map(lambda x: np.random.default_rng(x.size).normal(size=x.shape), parameters)
    for stack_blocks in (False, True):
        packing = Packing(parameters, stack_blocks=stack_blocks)
        same(packing.unpack(packing.pack(numbers)), numbers, rtol=1e-6)
        assert len(jax.tree.leaves(packing.pack(numbers))) <= 5

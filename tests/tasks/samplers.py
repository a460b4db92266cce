"""Compiled samplers, shared by the tests: one program per task serves every length."""

import functools
from collections.abc import Callable

import jax
import numpy as np

from randpos.tasks import TASKS, Batch

BATCH = 200
SHORT, LONG = 64, 1000
FEW = 16
"""Examples of a batch of long ones: oracles take their time."""


@functools.cache
def sampler(name: str, maximum: int) -> Callable[[jax.Array, int], Batch]:
    """Returns `sample` of a task, compiled for one maximum and any length up to it."""
    batch = BATCH if maximum == SHORT else FEW
    compiled = jax.jit(lambda key, length: TASKS[name].sample(key, length, batch, maximum))

    def sample(key: jax.Array, length: int) -> Batch:
        return jax.tree.map(np.asarray, compiled(key, length))

    return sample


def many_inputs(name: str, length: int, count: int) -> np.ndarray:
    """Returns at least `count` independent inputs of one length."""
    sample = sampler(name, SHORT)
    keys = jax.random.split(jax.random.key(length), -(-count // BATCH))
    places = TASKS[name].input_length(length)
    return np.concatenate([sample(key, length).inputs[:, :places] for key in keys])

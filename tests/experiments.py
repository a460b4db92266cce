"""Experiments that train in a moment, and engines that are compiled once for all tests.

Compiling is nearly all that such a test costs. A fixed length needs one program instead of one per
size, and an engine serves every seed, learning rate and number of steps.
"""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from randpos import (
    Architecture,
    Encoder,
    Evaluation,
    Experiment,
    PositionOptions,
    Schedule,
    resolve,
)
from randpos.training.engine import Engine

SIZES = Architecture(layers=1, heads=2, dim=8, hidden=8, dropout=0.1)


COMPLETE_RUN = [
    "config.json",
    "environment.json",
    "lock",
    "metrics.jsonl",
    "model.safetensors",
    "result.json",
    "timing.jsonl",
]
"""The files of a run that is trained and not yet tested."""


def tiny(**changes: Any) -> Experiment:
    """A model of a few hundred parameters that reverses four bits."""
    fields: dict[str, Any] = {
        "task": "reverse_string",
        "encoding": "randomized-sincos",
        "steps": 60,
        "batch": 8,
        "learning_rate": 1e-2,
        "test_length": 6,
        "positions": PositionOptions(maximum=32),
        "model": SIZES,
        "lengths": Schedule("fixed", 4),
        "evaluation": Evaluation(batch=16),
    }
    return Experiment(**{**fields, **changes})


@functools.cache
def _engine(experiment: Experiment) -> Engine:
    return Engine(experiment)


def shared_engine(experiment: Experiment) -> Engine:
    """The same programs for whatever differs only in what no program depends on."""
    usual = {"seed": 0, "learning_rate": 1e-2, "steps": 60, "evaluation": Evaluation()}
    return _engine(dataclasses.replace(experiment, **usual))


def random_model(experiment: Experiment, seed: int = 0) -> Encoder:
    """A model with random parameters from NumPy, which compiles nothing."""
    shapes, static = resolve(experiment).skeleton
    rng = np.random.default_rng(seed)

    def fill(leaf: jax.ShapeDtypeStruct) -> jax.Array:
        centre = 1.0 if leaf.ndim == 1 else 0.0
        return jnp.asarray(rng.normal(centre, 0.4, leaf.shape), leaf.dtype)

    return eqx.combine(jax.tree.map(fill, shapes), static)

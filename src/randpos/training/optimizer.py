"""The optimizer: directions of the updates, the rate over time, and the average of the weights.

The learning rate is not part of the optimizer: it tells the members of an ensemble apart,
and the update in `training/engine.py` multiplies by it.
"""

from typing import Any

import jax
import jax.numpy as jnp
import optax
import optax.contrib
from jaxtyping import Array, Float, Int, PyTree

from randpos.experiment import Experiment, Optimizer
from randpos.training.packing import Packed

Parameters = PyTree[Float[Array, "..."]]


def make_optimizer(experiment: Experiment) -> optax.GradientTransformation:
    """Returns clipping, then Adam or Muon, then weight decay, all for a learning rate of 1.

    Muon (Jordan et al., 2024) takes the matrices of the blocks, at twice the learning rate; Adam
    takes all other parameters. `consistent_rms` makes both updates about equally large.
    """
    options = experiment.optimizer
    parts = [optax.clip_by_global_norm(experiment.clip)]
    if options.name == "muon":
        # A negative rate: optax multiplies by minus the rate, and so does the training step.
        parts.append(
            optax.contrib.muon(
                -2.0,
                adam_learning_rate=-1.0,
                consistent_rms=0.2,
                muon_weight_dimension_numbers=_matrices,
            )
        )
    else:
        parts.append(optax.scale_by_adam())
    if options.weight_decay:
        parts.append(optax.add_decayed_weights(options.weight_decay, mask=_decayed))
    return optax.chain(*parts)


def _matrices(parameters: Any) -> Any:
    """Marks the matrices inside of blocks: those between hidden activations."""
    spec = optax.contrib.MuonDimensionNumbers(reduction_axis=-2, output_axis=-1)
    if isinstance(parameters, Packed):
        return Packed((spec,) * len(parameters.blocks), None, None)
    return jax.tree_util.tree_map_with_path(
        lambda path, x: spec if x.ndim == 2 and ".blocks" in jax.tree_util.keystr(path) else None,
        parameters,
    )


def _decayed(parameters: Any) -> Any:
    """Marks matrices; biases and the scales of LayerNorm are not decayed."""
    if isinstance(parameters, Packed):
        return Packed((True,) * len(parameters.blocks), True, False)
    return jax.tree.map(lambda x: x.ndim >= 2, parameters)


def rate_factor(options: Optimizer, steps: int, step: Int[Array, ""]) -> Float[Array, ""] | float:
    """Returns what the learning rate of a step is multiplied by: warm-up, then a cosine.

    >>> options = Optimizer(warmup=10, final_rate=0.1)
    >>> [round(float(rate_factor(options, 110, jnp.asarray(i))), 3) for i in (0, 9, 60, 109)]
    [0.1, 1.0, 0.55, 0.1]
    """
    factor: Any = 1.0
    if options.warmup:
        factor = jnp.minimum(1.0, (step + 1) / options.warmup)
    if options.final_rate != 1.0:
        done = (step - options.warmup) / max(1, steps - options.warmup)
        cosine = 0.5 * (1 + jnp.cos(jnp.pi * jnp.clip(done, 0.0, 1.0)))
        factor = factor * (options.final_rate + (1 - options.final_rate) * cosine)
    return factor


def update_average(
    average: Parameters, parameters: Parameters, decay: float, step: Int[Array, ""]
) -> Parameters:
    """Returns the exponential average of the weights after a step.

    The decay grows to its value over the first steps, so that the start is soon forgotten.
    """
    decay_now = jnp.minimum(decay, (1.0 + step) / (10.0 + step))
    return jax.tree.map(lambda a, p: a + (1 - decay_now) * (p - a), average, parameters)

"""Models whose weights are set by hand, so that what they do is known."""

import equinox as eqx
import jax
import jax.numpy as jnp

from randpos import Architecture, Encoder, Schedule, resolve
from randpos.results.inspect.models import Trained
from tests.experiments import tiny

LENGTH = 6
TIME = 2 * LENGTH
"""Tokens of reverse_string at that length: the input and as many placeholders."""


def blank(**changes) -> Trained:
    """A model whose parameters are all zero."""
    experiment = tiny(**changes)
    shapes, static = resolve(experiment).skeleton
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return Trained(experiment, eqx.combine(zeros, static))


def mirror() -> Trained:
    """One head of it looks from position i to position T + 1 - i, the other at all tokens alike."""
    experiment, model = blank(
        encoding="learned",
        test_length=LENGTH,
        lengths=Schedule("fixed", LENGTH),
        model=Architecture(layers=1, heads=2, dim=2 * TIME, hidden=4),
    )
    one_hot = jnp.eye(TIME, 2 * TIME)
    square = jnp.zeros((2 * TIME, 2 * TIME))

    def weights(model: Encoder) -> list[jax.Array]:
        block = model.blocks[0]
        return [model.encoding.rows, block.query.weight, block.key.weight]  # type: ignore

    mirrored = square.at[:TIME, :TIME].set(100.0 * jnp.eye(TIME)[::-1])
    same = square.at[:TIME, :TIME].set(jnp.eye(TIME))
    return Trained(experiment, eqx.tree_at(weights, model, [one_hot, mirrored, same]))

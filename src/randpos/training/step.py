"""A training step: its batch, and the gradient of its loss.

Batches, positions and dropout are made on the device. Each step has its own length; lengths are
padded to a few static sizes. All randomness of a step comes from the run's seed and the step's
number, so that a run may stop anywhere and continue exactly, and a member of an ensemble is trained
as if it were alone.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, PyTree

from randpos.experiment import Experiment
from randpos.nn.model import Encoder
from randpos.nn.pieces import split
from randpos.positions import per_example
from randpos.setup import Setup
from randpos.training.batch import DrawnBatch, assemble, draw_batch, right_answers

Parameters = PyTree[Float[Array | np.ndarray, "..."]]


class State(NamedTuple):
    """All that training changes."""

    parameters: Parameters
    optimizer: optax.OptState
    average: Parameters | None = None
    """The average of the parameters over steps, if there is one."""

    @property
    def model(self) -> Parameters:
        """The parameters that are tested and kept."""
        return self.parameters if self.average is None else self.average


class Member(NamedTuple):
    """The seed and learning rate of a run: all that differs within an ensemble."""

    seed: Int[Array, ""]
    learning_rate: Float[Array, ""]


def make_member(experiment: Experiment) -> Member:
    """Returns the seed and learning rate of an experiment."""
    return Member(
        jnp.asarray(experiment.seed, jnp.uint32),
        jnp.asarray(experiment.learning_rate, jnp.float32),
    )


def draw_step(
    setup: Setup, key: Key[Array, ""], length: Int[Array, ""]
) -> tuple[DrawnBatch, Key[Array, ""]]:
    """Returns the batch of a step, in buffers for the longest length, and the key of dropout.

    A batch does not depend on the size of its buffers, so it is drawn once and cut to the size that
    a step is padded to: drawing it for each size would double the time of compilation.
    """
    experiment = setup.experiment
    to_batch, to_positions, to_dropout = jax.random.split(key, 3)
    sizes = experiment.batch, experiment.lengths.maximum
    return draw_batch(setup, to_batch, to_positions, length, *sizes), to_dropout


def gradients(
    setup: Setup,
    size: int,
    parameters: PyTree[Float[Array, "..."]],
    drawn: DrawnBatch,
    dropout: Key[Array, ""],
    length: Int[Array, ""],
) -> tuple[PyTree[Float[Array, "..."]], Float[Array, ""], Float[Array, ""]]:
    """Returns the gradient, loss and accuracy of one batch of the given length.

    The batch is computed in pieces whose activations fit into the processor's cache. What does not
    depend on the tokens is computed once, and its gradient pulled back once; where examples have
    positions of their own, it is computed in each piece.

    Args:
        setup: What is trained.
        size: The static length that the batch is padded to.
        parameters: The parameters.
        drawn: The batch and its positions.
        dropout: Source of dropout.
        length: The length n of this step, at most `size`.
    """
    task, static = setup.task, setup.skeleton[1]
    batch, positions = drawn.cut(setup.layout, size)
    sequences = assemble(setup.layout, batch, length)
    answers = task.output_length(length)

    own = per_example(positions)

    def see(parameters, where):
        model: Encoder = eqx.combine(parameters, static)
        return model.view(where, mask=sequences.mask, outputs=sequences.outputs)

    def view(parameters):
        views = () if own else see(parameters, positions)
        tables = tuple(v.per_layer for v in views)
        return tables, tuple(v._replace(per_layer=None) for v in views)

    tables, pull_back, views = jax.vjp(view, parameters, has_aux=True)

    def loss_of(learned, tokens, part, first, where):
        parameters, tables = learned
        model: Encoder = eqx.combine(parameters, static)
        seen = tuple(v._replace(per_layer=t) for v, t in zip(views, tables, strict=True))
        logits = model.logits(
            tokens,
            where if own else positions,
            see(parameters, where) if own else seen,
            outputs=sequences.outputs,
            key=dropout,
            first=first,
        )
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, part.outputs)
        asked = jnp.arange(losses.shape[1]) < answers
        right = jnp.sum(right_answers(logits, part))
        return jnp.sum(losses * asked) / (len(batch.outputs) * answers), right

    def piece(total, data):
        out = jax.value_and_grad(loss_of, has_aux=True)((parameters, tables), *data)
        return jax.tree.map(jnp.add, total, out), None

    pieces = cache_pieces(*sequences.tokens.shape)
    data = split((sequences.tokens, batch), pieces)
    first = jnp.arange(pieces) * (len(batch.outputs) // pieces)
    parts = split(positions, pieces) if own else None
    zero = jax.tree.map(
        jnp.zeros_like, ((jnp.zeros(()), jnp.zeros((), jnp.int32)), (parameters, tables))
    )
    ((loss, right), (grads, d_tables)), _ = jax.lax.scan(piece, zero, (*data, first, parts))
    grads = jax.tree.map(jnp.add, grads, pull_back(d_tables)[0])
    return grads, loss, right / jnp.sum(batch.counted)


TOKENS = 700
"""Tokens of a piece, whose activations fit into the second-level cache of a CPU."""


def cache_pieces(batch: int, time: int) -> int:
    """Returns into how many equal pieces a batch of sequences is best cut.

    On a CPU a piece of about 700 tokens keeps its activations in the second-level cache, which
    is 1.5 times as fast as a whole batch (docs/performance.md). Accelerators take it whole.
    """
    if jax.default_backend() != "cpu":
        return 1
    fits = [p for p in range(1, batch + 1) if batch % p == 0 and batch // p * time <= TOKENS]
    return min(fits, default=batch)

"""A batch: sample examples, draw their positions, assemble tokens, compare answers.

Training, evaluation and the inspection of models all make their batches here. The input is followed
by one placeholder per output token; the model answers at the placeholders, all at once (section 4:
no autoregressive sampling). Padding fills the rest of the buffer.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from randpos.positions import Length, Positions, cut_positions
from randpos.setup import Setup
from randpos.tasks.base import Batch, Task, total_length


class DrawnBatch(NamedTuple):
    """Examples of one length and their positions, in static buffers."""

    batch: Batch
    positions: Positions | tuple[Positions, ...]

    def cut(self, task: Task, size: int) -> "DrawnBatch":
        """Cuts the buffers to those of sequences of length `size`."""
        batch = self.batch.cut(int(task.input_length(size)), int(task.output_length(size)))
        return DrawnBatch(batch, cut_positions(self.positions, int(total_length(task, size))))


def draw_batch(
    setup: Setup,
    to_batch: Key[Array, ""],
    to_positions: Key[Array, ""],
    length: Length,
    examples: int,
    size: int,
    first: Length = 0,
) -> DrawnBatch:
    """Samples examples and draws their positions; neither depends on `size`.

    Args:
        setup: The task and the scheme of positions.
        to_batch: Source of the examples.
        to_positions: Source of the positions.
        length: The length n of all examples.
        examples: How many of them.
        size: The static length that the buffers are made for.
        first: The number of the first example, where the batch is a part of a larger one.
    """
    task, layers = setup.task, setup.experiment.model.layers
    batch = task.sample(to_batch, length, examples, size, first)
    tokens = total_length(task, length), int(total_length(task, size))
    positions = setup.scheme.sample_batch(
        to_positions, *tokens, layers=layers, examples=examples, first=first
    )
    return DrawnBatch(batch, positions)


class Sequences(NamedTuple):
    """Token sequences of one length in a static buffer, and where their answers stand."""

    tokens: Int[Array, "batch time"]
    mask: Bool[Array, "1 time"]
    """Which tokens are real."""
    length: Length
    """T, the number of real tokens."""
    outputs: tuple[Length, int]
    """The first placeholder, and the number of them that the buffer has room for."""


def assemble(task: Task, batch: Batch, length: Length) -> Sequences:
    """Appends placeholders and padding to the inputs of a batch."""
    inputs, answers = task.input_length(length), task.output_length(length)
    size = batch.inputs.shape[1] + batch.outputs.shape[1]
    place = jnp.arange(size)
    padded = jnp.pad(batch.inputs, ((0, 0), (0, batch.outputs.shape[1])))
    reserved = jnp.where(place < inputs + answers, task.tokens, task.tokens + 1)
    return Sequences(
        tokens=jnp.where(place < inputs, padded, reserved),
        mask=(place < inputs + answers)[None],
        length=inputs + answers,
        outputs=(inputs, batch.outputs.shape[1]),
    )


def right_answers(
    logits: Float[Array, "batch output classes"], batch: Batch
) -> Bool[Array, "batch output"]:
    """Marks the counted output tokens that are right."""
    return (jnp.argmax(logits, axis=-1) == batch.outputs) & batch.counted

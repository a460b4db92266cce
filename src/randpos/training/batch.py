"""A batch: sample examples, draw their positions, assemble tokens, compare answers.

Training, evaluation and the inspection of models all make their batches here. An encoder answers at
placeholders after the input, all at once (section 4: no autoregressive sampling). A decoder reads
the right answers in training, one token late (`randpos.tasks.layout`). Padding fills the buffer.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from randpos.positions import Length, Positions, cut_positions
from randpos.setup import Setup
from randpos.tasks.base import Batch
from randpos.tasks.layout import Layout


class DrawnBatch(NamedTuple):
    """Examples of one length and their positions, in static buffers."""

    batch: Batch
    positions: Positions | tuple[Positions, ...]

    def cut(self, layout: Layout, size: int) -> "DrawnBatch":
        """Cuts the buffers to those of sequences of length `size`."""
        inputs, outputs = layout.task.input_length(size), layout.task.output_length(size)
        batch = self.batch.cut(int(inputs), int(outputs))
        return DrawnBatch(batch, cut_positions(self.positions, int(layout.total_length(size))))


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
    layout, layers = setup.layout, setup.experiment.model.layers
    batch = layout.task.sample(to_batch, length, examples, size, first)
    tokens = layout.total_length(length), int(layout.total_length(size))
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
    """The first place that is answered, and the number of them that the buffer has room for."""


def assemble(layout: Layout, batch: Batch, length: Length) -> Sequences:
    """Appends to the inputs of a batch what the layout has after them, and padding."""
    inputs, prompt = layout.task.input_length(length), layout.prompt_length(length)
    total, outputs = layout.total_length(length), batch.outputs.shape[1]
    after = layout.thinking * batch.inputs.shape[1] + outputs
    place = jnp.arange(batch.inputs.shape[1] + after)
    padded = jnp.pad(batch.inputs, ((0, 0), (0, after)))
    reserved = jnp.where(place < total, layout.placeholder, layout.padding)
    if layout.thinking:
        reserved = jnp.where((inputs <= place) & (place < prompt), layout.blank, reserved)
    tokens = jnp.where(place < inputs, padded, reserved)
    if layout.autoregressive:
        before = jnp.asarray(layout.answer_tokens)[batch.outputs]
        before = jnp.take(before, jnp.clip(place - prompt - 1, 0, outputs - 1), axis=1)
        tokens = jnp.where((prompt < place) & (place < total), before, tokens)
    return Sequences(
        tokens=tokens,
        mask=(place < total)[None],
        length=total,
        outputs=(prompt, outputs),
    )


def right_answers(
    logits: Float[Array, "batch output classes"], batch: Batch
) -> Bool[Array, "batch output"]:
    """Marks the counted output tokens that are right."""
    return (jnp.argmax(logits, axis=-1) == batch.outputs) & batch.counted

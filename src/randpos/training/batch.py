"""From a task's batch to the token sequence that the model reads.

The input is followed by one placeholder per output token; the model answers at the placeholders,
all at once (section 4: no autoregressive sampling). Padding fills the rest of the buffer.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from randpos.positions import Length
from randpos.tasks.base import Batch, Task


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

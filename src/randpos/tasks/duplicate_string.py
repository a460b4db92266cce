"""Duplicate String: the string, twice."""

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import bit_string


class DuplicateString(Task):
    """Uniform bits, twice.

    >>> DuplicateString().answer(jnp.array([0, 1, 1]), 3)
    Array([0, 1, 1, 0, 1, 1], dtype=int32)
    """

    name = "duplicate_string"
    level = "CS"
    description = "the string twice"
    symbols = "01"
    output_symbols = "01"
    chance = 0.5

    def output_length(self, length: Length) -> Length:
        """|y| = 2n."""
        return 2 * length

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws a string."""
        inputs = bit_string(key, length, maximum)
        return Example(inputs, self.answer(inputs, length))

    def answer(self, inputs: Int[Array, " n"], length: Length) -> Int[Array, " 2*n"]:
        """Returns the answer."""
        place = jnp.arange(2 * inputs.shape[0])
        source = jnp.where(place < length, place, place - length)
        return jnp.where(place < 2 * length, inputs[source % inputs.shape[0]], 0)

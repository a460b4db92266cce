"""Reverse String: the string backwards."""

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import bit_string


class ReverseString(Task):
    """Uniform bits, in reverse order.

    >>> ReverseString().answer(jnp.array([0, 1, 1, 0, 1]), 5)
    Array([1, 0, 1, 1, 0], dtype=int32)
    """

    name = "reverse_string"
    level = "DCF"
    description = "the string in reverse order"
    symbols = "01"
    output_symbols = "01"
    chance = 0.5

    def output_length(self, length: Length) -> Length:
        """|y| = n."""
        return length

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws a string."""
        inputs = bit_string(key, length, maximum)
        return Example(inputs, self.answer(inputs, length))

    def answer(self, inputs: Int[Array, " n"], length: Length) -> Int[Array, " n"]:
        """Returns the answer."""
        place = jnp.arange(inputs.shape[0])
        return jnp.where(place < length, inputs[jnp.maximum(length - 1 - place, 0)], 0)

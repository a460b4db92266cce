"""Copy: the same digits again. Not a task of the paper."""

import jax.numpy as jnp
from jaxtyping import Array, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import below, inside, words


class Copy(Task):
    """Uniform digits; the answer is the input."""

    name = "copy"
    level = "CS"
    description = "the same digits again"
    symbols = "0123456789"
    output_symbols = "0123456789"
    chance = 0.1

    def output_length(self, length: Length) -> Length:
        """|y| = n."""
        return length

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws the digits."""
        digits = below(words(key, maximum), 10)
        inputs = jnp.where(inside(length, maximum), digits, 0)
        return Example(inputs, inputs)

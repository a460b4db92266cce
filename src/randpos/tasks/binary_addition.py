"""Binary Addition: the sum of two little-endian numbers."""

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.binary import total
from randpos.tasks.operands import END, draw, ended, parts


class BinaryAddition(Task):
    """Two positive little-endian numbers; their sum without trailing zeros, then an end.

    Below n = 3 there is one number, and it is the answer.

    >>> tokens = jnp.array([0, 0, 1, 2, 0, 1, 1, 0, 1])  # 4 + 22 = 26
    >>> BinaryAddition().answer(tokens)
    Array([0, 1, 0, 1, 1, 2, 0, 0, 0, 0], dtype=int32)
    """

    name = "binary_addition"
    level = "CS"
    description = "the sum of two binary numbers, lowest bit first"
    symbols = "01+"
    output_symbols = "01."
    chance = 0.5
    terminator = END

    def output_length(self, length: Length) -> Length:
        """|y| = n + 1."""
        return length + 1

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws the terms."""
        inputs = draw(key, length, maximum)
        return Example(inputs, self.answer(inputs))

    def answer(self, inputs: Int[Array, " n"]) -> Int[Array, " n+1"]:
        """Returns the answer."""
        first, second = parts(inputs)
        return ended(total(jnp.pad(first, (0, 1)), jnp.pad(second, (0, 1))))

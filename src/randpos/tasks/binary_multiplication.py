"""Binary Multiplication: the product of two little-endian numbers."""

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.binary import product
from randpos.tasks.operands import END, draw, ended, parts


class BinaryMultiplication(Task):
    """Two positive little-endian numbers; their product without trailing zeros, then an end.

    Below n = 3 there is one number, and the answer is n − 1 zeros and the end.

    >>> tokens = jnp.array([1, 0, 0, 1, 2, 0, 0, 0, 0, 0, 1])  # 9 · 32
    >>> BinaryMultiplication().answer(tokens, 11)
    Array([0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 0], dtype=int32)
    """

    name = "binary_multiplication"
    level = "CS"
    description = "the product of two binary numbers, lowest bit first"
    symbols = "01*"
    output_symbols = "01."
    chance = 0.5
    terminator = END

    def output_length(self, length: Length) -> Length:
        """|y| = n."""
        return length

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws the factors."""
        inputs = draw(key, length, maximum)
        return Example(inputs, self.answer(inputs, length))

    def answer(self, inputs: Int[Array, " n"], length: Length) -> Int[Array, " n"]:
        """Returns the answer: the factors have n − 1 bits together, so their product fits."""
        alone = jnp.where(jnp.arange(inputs.shape[0]) == length - 1, END, 0)
        return jnp.where(length > 2, ended(product(*parts(inputs))), alone)

"""Compute Sqrt: the integer square root of a big-endian number."""

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.binary import square_root
from randpos.tasks.draws import packed, positive, words


class ComputeSqrt(Task):
    """A number uniform in 1..2^n − 1, highest bit first; the integer part of its square root.

    >>> ComputeSqrt().answer(jnp.array([1, 0, 0, 1, 0, 1]), 6)  # ⌊√37⌋ = 6
    Array([1, 1, 0], dtype=int32)
    """

    name = "compute_sqrt"
    level = "CS"
    description = "the integer part of the square root, highest bit first"
    symbols = "01"
    output_symbols = "01"
    chance = 0.5

    def output_length(self, length: Length) -> Length:
        """|y| = ⌈n/2⌉: half the bits, rounded up."""
        return (length + 1) // 2

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws the number."""
        inputs = positive(words(key, 1 + packed(maximum)), length, maximum)
        return Example(inputs, self.answer(inputs, length))

    def answer(self, inputs: Int[Array, " n"], length: Length) -> Int[Array, " (n+1)//2"]:
        """Returns the answer; a number of odd length gets a zero in front, to come in pairs."""
        odd = length % 2
        low = 2 * jnp.arange((inputs.shape[0] + 1) // 2) + 1 - odd
        high_bits = jnp.where(low > 0, inputs[jnp.maximum(low - 1, 0)], 0)
        low_bits = inputs[jnp.minimum(low, inputs.shape[0] - 1)]
        inside = low < length
        return jnp.where(inside, square_root(jnp.where(inside, 2 * high_bits + low_bits, 0)), 0)

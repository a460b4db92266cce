"""Parity Check: is the number of 1s odd?"""

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import bit_string


class ParityCheck(Task):
    """Uniform bits; the number of 1s, modulo 2.

    >>> ParityCheck().answer(jnp.array([1, 1, 1, 0, 1, 0]))
    Array([0], dtype=int32)
    """

    name = "parity_check"
    level = "R"
    description = "number of 1s in the string, modulo 2"
    symbols = "01"
    output_symbols = "01"
    chance = 0.5
    permutation_invariant = True

    def output_length(self, length: Length) -> Length:
        """One bit."""
        return 1

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws a string."""
        inputs = bit_string(key, length, maximum)
        return Example(inputs, self.answer(inputs))

    def answer(self, inputs: Int[Array, " input"]) -> Int[Array, " 1"]:
        """Returns the answer; zeros after the end do not change it."""
        return jnp.sum(inputs, keepdims=True) % 2

"""Cycle Navigation: where do steps on a cycle of five places lead?"""

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import below, inside, words

PLACES = 5


class CycleNavigation(Task):
    """Uniform steps −1, 0 and +1 (tokens 0, 1 and 2) from place 0; the final place.

    >>> CycleNavigation().answer(jnp.array([2, 2, 0, 1, 2]), 5)  # + + − 0 +
    Array([2], dtype=int32)
    """

    name = "cycle_navigation"
    level = "R"
    description = "final place after steps -1, 0, +1 on a cycle of 5, from place 0"
    symbols = "-0+"
    output_symbols = "01234"
    chance = 0.2
    permutation_invariant = True

    def output_length(self, length: Length) -> Length:
        """One place of the cycle."""
        return 1

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws the steps."""
        steps = below(words(key, maximum), len(self.symbols))
        inputs = jnp.where(inside(length, maximum), steps, 0)
        return Example(inputs, self.answer(inputs, length))

    def answer(self, inputs: Int[Array, " input"], length: Length) -> Int[Array, " 1"]:
        """Returns the answer: a token is one more than its step."""
        return (jnp.sum(inputs, keepdims=True) - length) % PLACES

"""Modular Arithmetic: the value of a bracketed expression, modulo 5."""

import jax.numpy as jnp
from jaxtyping import Array, Key

from randpos.tasks import expressions
from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import words


class ModularArithmetic(Task):
    """A random bracketed expression of exactly n tokens; its value modulo 5.

    >>> from randpos.tasks.render import show
    >>> show(ModularArithmetic(), length=12, count=2, seed=3)
    ['(0+(2*(-4))) → 2', '(2-((0)+-3)) → 0']
    """

    name = "modular_arithmetic"
    level = "DCF"
    description = "value of a bracketed expression, modulo 5"
    symbols = "01234+-*()"
    output_symbols = "01234"
    chance = 0.2

    def output_length(self, length: Length) -> Length:
        """One digit."""
        return 1

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws an expression."""
        drawn = expressions.grow(words(key, maximum), length, operators=3)
        inputs = expressions.spelled(drawn, self.symbols)
        return Example(inputs, jnp.atleast_1d(expressions.evaluate(drawn)))

"""Modular Arithmetic: the value of a bracketed expression, modulo 5."""

import jax.numpy as jnp
from jaxtyping import Array, Key

from randpos.tasks import expressions
from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import words

OPERATOR, MINUS, OPEN, CLOSE = 5, 6, 8, 9


class ModularArithmetic(Task):
    """A random bracketed expression of exactly n tokens; its value modulo 5.

    >>> import jax
    >>> inputs, outputs = ModularArithmetic().example(jax.random.key(3), 9, 9)
    >>> "".join("01234+-*()"[token] for token in inputs), int(outputs[0])
    ('(4-(1-0))', 3)
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
        inputs = jnp.select(
            [drawn.is_digit, drawn.is_operator, drawn.is_minus, drawn.opens, drawn.closes],
            [drawn.digit, OPERATOR + drawn.operator, MINUS, OPEN, CLOSE],
            0,
        )
        return Example(inputs, jnp.atleast_1d(expressions.evaluate(drawn)))

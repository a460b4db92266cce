"""Solve Equation: which digit x makes a bracketed equation true, modulo 5?"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from randpos.tasks import expressions
from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import below, words

UNKNOWN, EQUALS = 9, 10


class SolveEquation(Task):
    """A bracketed expression of n − 2 tokens in + and −, with one digit hidden, = and its value.

    A place is drawn uniformly, and the first digit from there on (cyclically) becomes x. Below
    n = 3 there is no room for an equation: the input is all 0 and the answer is class 0.

    >>> from randpos.tasks.render import show
    >>> show(SolveEquation(), length=12, count=2, seed=4)
    ['((2-1)--x)=0 → 4', '((-1)+(x))=4 → 0']
    """

    name = "solve_equation"
    level = "DCF"
    description = "the digit x that solves a bracketed equation, modulo 5"
    symbols = "01234+-()x="
    output_symbols = "01234"
    chance = 0.2

    def output_length(self, length: Length) -> Length:
        """One digit."""
        return 1

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws an expression and the place to hide."""
        word = words(key, 1 + maximum)
        size, place = jnp.maximum(length - 2, 1), jnp.arange(maximum)
        drawn = expressions.grow(word[1:], size, operators=2)
        tokens = expressions.spelled(drawn, self.symbols)
        hidden = below(word[0], size)
        steps = jnp.where(place >= hidden, place - hidden, place - hidden + size)
        hidden = jnp.argmin(jnp.where(drawn.is_digit, steps, maximum))
        tokens = jnp.where(place == hidden, UNKNOWN, tokens)
        tokens = jnp.where(place == size, EQUALS, tokens)
        tokens = jnp.where(place == size + 1, expressions.evaluate(drawn), tokens)
        is_equation = length > 2
        answer = jnp.where(is_equation, drawn.digit[hidden], 0)
        return Example(jnp.where(is_equation, tokens, 0), jnp.atleast_1d(answer))

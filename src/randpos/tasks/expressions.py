"""Bracketed expressions of an exact length, and their value modulo 5.

An expression of n tokens is, with d a uniform digit:

    n = 1: d    n = 2: −d    n = 3: (d)    n = 4: (−d)
    n ≥ 5: (A op B) with |A| uniform in 1..n−4, |B| = n−3−|A| and op uniform.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from randpos.tasks.base import Length
from randpos.tasks.draws import below, inside

MODULUS = 5
PLUS, MINUS, TIMES = range(3)
"""Operators, numbered as they are drawn; the symbols of a task list them in this order."""


class Expression(NamedTuple):
    """What stands at each place. At most one of the first five holds; none after the end."""

    is_digit: Bool[Array, " places"]
    is_operator: Bool[Array, " places"]
    is_minus: Bool[Array, " places"]
    """The sign in front of a digit."""
    opens: Bool[Array, " places"]
    closes: Bool[Array, " places"]
    digit: Int[Array, " places"]
    operator: Int[Array, " places"]
    second: Int[Array, " places"]
    """At a bracket that opens (A op B): the place where B starts; elsewhere 0."""


def grow(word: UInt32[Array, " places"], length: Length, operators: int) -> Expression:
    """Turns a uniform word per place into an expression with the first `operators` operators.

    All expressions of one nesting depth are split at once: each place stores the start and
    the length of the smallest expression around it. A depth takes the time of one pass, and the
    depth of a random split grows with the logarithm of the length. One random word per place is
    enough: a place becomes a split, an operator or a digit, which depends only on the words of
    other places.
    """
    places = word.shape[0]
    place = jnp.arange(places)

    def unfinished(state: tuple[Array, ...]) -> Array:
        return (state[1] > 4).any()

    def split(state: tuple[Array, ...]) -> tuple[Array, ...]:
        start, size, second, closes, is_operator = state
        offset, splits = place - start, size > 4
        first = 1 + below(word[start], jnp.maximum(size - 4, 1))  # |A|
        opens, operates, ends = offset == 0, offset == first + 1, offset == size - 1
        in_first = offset <= first
        structure = opens | operates | ends
        inner_start = jnp.where(in_first, start + 1, start + first + 2)
        inner_size = jnp.where(structure, 0, jnp.where(in_first, first, size - 3 - first))
        return (
            jnp.where(splits, inner_start, start),
            jnp.where(splits, inner_size, size),
            jnp.where(splits & opens, start + first + 2, second),
            closes | (splits & ends),
            is_operator | (splits & operates),
        )

    nothing, no = jnp.zeros(places, jnp.int32), jnp.zeros(places, bool)
    size = jnp.where(inside(length, places), length, 0)
    start, size, second, closes, is_operator = jax.lax.while_loop(
        unfinished, split, (nothing, size, nothing, no, no)
    )
    # What remains are expressions of 1 to 4 tokens (and size 0 where a place has its token).
    offset, bracketed = place - start, size > 2
    digit_offset = jnp.where(bracketed, size - 2, size - 1)
    is_digit = (size > 0) & (offset == digit_offset)
    is_minus = ((size == 2) | (size == 4)) & (offset == digit_offset - 1)
    return Expression(
        is_digit=is_digit,
        is_operator=is_operator,
        is_minus=is_minus,
        opens=(second > 0) | (bracketed & (offset == 0)),
        closes=closes | (bracketed & (offset == size - 1)),
        digit=jnp.where(is_digit, below(word, MODULUS), 0),
        operator=jnp.where(is_operator, below(word, operators), PLUS),
        second=second,
    )


def spelled(expression: Expression, symbols: str) -> Int[Array, " places"]:
    """Returns an expression as tokens of a task whose `symbols` start with the digits."""
    kinds = [
        (expression.is_digit, expression.digit),
        (expression.is_operator, symbols.index("+") + expression.operator),
        (expression.is_minus, symbols.index("-")),
        (expression.opens, symbols.index("(")),
        (expression.closes, symbols.index(")")),
    ]
    return jnp.select([holds for holds, _ in kinds], [token for _, token in kinds], 0)


def evaluate(expression: Expression) -> Int[Array, ""]:
    """Returns the value modulo 5, finding that of the expression *from* each place, last first.

    A digit is its own value, a sign negates what follows, and a bracket either has the value of
    what follows or joins it with the value found at its second part.
    """
    places = expression.digit.shape[0]
    joint = jnp.where(expression.second > 0, expression.operator[expression.second - 1], PLUS)
    second = jnp.where(expression.second > 0, expression.second, places)  # there is a zero

    def step(state: tuple[Array, Array], here: tuple[Array, ...]):
        values, after = state
        place, is_digit, is_minus, digit, operator, second = here
        left, right = jnp.where(is_minus, -after, after), values[second]
        joined = jnp.where(operator == TIMES, left * right, left + right)
        joined = jnp.where(operator == MINUS, left - right, joined)
        value = jnp.where(is_digit, digit, joined % MODULUS)
        return (values.at[place].set(value), value), None

    here = (jnp.arange(places), expression.is_digit, expression.is_minus, expression.digit)
    start = (jnp.zeros(places + 1, jnp.int32), jnp.zeros((), jnp.int32))
    (_, value), _ = jax.lax.scan(step, start, (*here, joint, second), reverse=True)
    return value

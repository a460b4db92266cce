"""ListOps: the value of nested lists of digits (Nangia and Bowman, 2018; Long Range Arena)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, UInt32

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import below, inside, words

DIGITS = 10
MIN, MAX, MED, SUM, CLOSE = range(DIGITS, DIGITS + 5)
"""The operators open a list; SUM is modulo 10."""
OPERATORS = 4
DEPTH = 10
"""The largest depth of nesting, as in the Long Range Arena."""
FEWEST, MOST = 2, 10
"""Arguments that a list draws, as in the Long Range Arena."""
SHORTEST = 4
"""Tokens of the shortest list."""


class ListOps(Task):
    """A random nested list of exactly n tokens; its value.

    A list has 4 tokens or more: at n = 2 and 3 the input is a single digit, as at n = 1.

    >>> from randpos.tasks.render import show
    >>> show(ListOps(), length=12, count=2, seed=0)
    ['mm1m5767]]1] → 1', 'm2~4m1092]]] → 2']
    """

    name = "listops"
    level = "DCF"
    description = "value of nested lists: m is minimum, M maximum, ~ median, + sum modulo 10"
    symbols = "0123456789mM~+]"
    output_symbols = "0123456789"
    chance = 0.1

    def input_length(self, length: Length) -> Length:
        """Counts n tokens, or 1 if n is too short for a list."""
        if isinstance(length, int):
            return length if length >= SHORTEST else 1
        return jnp.where(length >= SHORTEST, length, 1)

    def output_length(self, length: Length) -> Length:
        """One digit."""
        return 1

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws a list."""
        places = int(self.input_length(maximum))
        inputs = grow(words(key, 3 * places).reshape(places, 3), self.input_length(length))
        return Example(inputs, evaluate(inputs, self.input_length(length))[None])


def grow(drawn: UInt32[Array, "places 3"], length: Length) -> Int[Array, " places"]:
    """Turns three uniform words per place into a list of exactly `length` tokens.

    As in the Long Range Arena an operator is uniform and draws a number of arguments in 2..10, and
    an argument is a list with probability 1/4, otherwise a uniform digit; lists are at most 10
    deep. That gives a random length, so two rules make it `length`: the outermost list takes
    further arguments until one token is left, and where the tokens left are just enough to give
    each open list two arguments and to close it, there are no further ones.
    """
    opens = below(drawn[:, 0], 4) == 0
    digit, operator = below(drawn[:, 1], DIGITS), MIN + below(drawn[:, 1], OPERATORS)
    wanted = FEWEST + below(drawn[:, 2], MOST - FEWEST + 1)
    level = jnp.arange(DEPTH)

    def step(state, here):
        arguments, wishes, depth = state
        place, opens, digit, operator, wish = here
        is_open = level < depth
        # What the open lists need: two arguments each, and a token to close.
        need = jnp.sum(jnp.where(is_open, 1 + jnp.maximum(FEWEST - arguments, 0), 0))
        left = length - place
        top = jnp.maximum(depth - 1, 0)
        short = arguments[top] < FEWEST
        # An argument that is not needed takes one token more, and a list at least four.
        spare = left - need
        is_list = opens & (depth < DEPTH) & (spare >= jnp.where(short, SHORTEST - 1, SHORTEST))
        full = jnp.where(depth == 1, False, arguments[top] >= wishes[top])
        closes = ~short & (full | (spare < 1))
        starts = (place == 0) & (length > 1)
        is_list = jnp.where(starts, True, is_list & ~closes & (depth > 0))
        closes = closes & ~starts & (depth > 0)
        token = jnp.where(closes, CLOSE, jnp.where(is_list, operator, digit))
        # A list counts as an argument of the one around it when it opens.
        arguments = jnp.where((level == top) & (depth > 0) & ~closes, arguments + 1, arguments)
        new = is_list & (level == depth)
        arguments = jnp.where(new, 0, arguments)
        wishes = jnp.where(new, wish, wishes)
        return (arguments, wishes, depth + is_list - closes), token

    nothing = jnp.zeros(DEPTH, jnp.int32)
    here = (jnp.arange(len(drawn)), opens, digit, operator, wanted)
    start = (nothing, nothing, jnp.zeros((), jnp.int32))
    _, tokens = jax.lax.scan(step, start, here)
    return jnp.where(inside(length, len(drawn)), tokens, 0)


def evaluate(tokens: Int[Array, " places"], length: Length) -> Int[Array, ""]:
    """Returns the value of a list, counting the arguments of every open list by their value.

    >>> listed = [ListOps.symbols.index(symbol) for symbol in "M29m47]0]"]
    >>> int(evaluate(jnp.array(listed), 9))
    9
    """
    level, digits = jnp.arange(DEPTH + 1), jnp.arange(DIGITS)

    def step(state, here):
        counts, operators, depth = state
        token, real = here
        opens, closes = real & (token >= MIN) & (token < CLOSE), real & (token == CLOSE)
        value = jnp.where(closes, fold(operators[depth], counts[depth]), token)
        # Level 0 is around the outermost list, and holds its value in the end.
        depth = jnp.where(closes, depth - 1, depth)
        added = (level == depth)[:, None] & (digits == value) & real & ~opens
        counts = counts + added
        depth = jnp.where(opens, depth + 1, depth)
        new = opens & (level == depth)
        counts = jnp.where(new[:, None], 0, counts)
        operators = jnp.where(new, token, operators)
        return (counts, operators, depth), None

    counts = jnp.zeros((DEPTH + 1, DIGITS), jnp.int32)
    start = (counts, jnp.zeros(DEPTH + 1, jnp.int32), jnp.zeros((), jnp.int32))
    (counts, _, _), _ = jax.lax.scan(step, start, (tokens, inside(length, len(tokens))))
    return jnp.argmax(counts[0]).astype(jnp.int32)


def fold(operator: Int[Array, ""], counts: Int[Array, " digit"]) -> Int[Array, ""]:
    """Applies an operator to arguments, of which `counts` says how often each digit occurs.

    The median of an even number of arguments is the mean of the middle two, rounded down.
    """
    total, up_to = jnp.sum(counts), jnp.cumsum(counts)

    def ranked(place):
        """The argument at a place when they are sorted, from 0."""
        return jnp.sum(up_to <= place)

    median = (ranked((total - 1) // 2) + ranked(total // 2)) // 2
    summed = jnp.sum(jnp.arange(DIGITS) * counts) % DIGITS
    values = ranked(0), ranked(total - 1), median, summed
    return jnp.select([operator == MIN + i for i in range(OPERATORS)], values, 0)

"""Expressions from any words, also the unlikeliest: their grammar, length and value."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from randpos.tasks.expressions import evaluate, grow, spelled
from tests.oracles.tasks import parse

many = settings(deadline=None, max_examples=60)

PLACES = 64
SYMBOLS = "01234+-*()"
word = st.integers(0, 2**32 - 1) | st.sampled_from([0, 2**32 - 1])


leaves = st.sampled_from(["0", "1", "4", "-2", "(3)", "(-4)"])


def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("({}{}{})".format, inner, st.sampled_from("+-*"), inner)


@jax.jit
def expression(words: jax.Array, length: int) -> tuple[jax.Array, jax.Array]:
    grown = grow(words, length, operators=3)
    return spelled(grown, SYMBOLS), evaluate(grown)


@many
@given(st.lists(word, min_size=PLACES, max_size=PLACES), st.integers(1, PLACES))
@example([0] * PLACES, PLACES)  # |A| = 1 throughout: as deep as it gets
@example([2**32 - 1] * PLACES, PLACES)  # |B| = 1 throughout
def test_any_words_make_an_expression_of_the_length_asked_for(words, length):
    tokens, result = expression(jnp.array(words, jnp.uint32), length)
    assert not np.asarray(tokens[length:]).any()
    assert int(result) == parse(np.asarray(tokens[:length]).tolist(), SYMBOLS)


@many
@given(st.recursive(leaves, joined, max_leaves=30))
def test_the_oracle_parses_as_python_does(text):
    assert parse([SYMBOLS.index(symbol) for symbol in text], SYMBOLS) == eval(text) % 5


def test_the_oracle_refuses_what_the_grammar_does_not_make():
    for text in ("", "1+2", "((1))", "(1", "1)", "--1", "(1+2)+3", "((1+2))", "(1+2*3)"):
        try:
            parse([SYMBOLS.index(symbol) for symbol in text], SYMBOLS)
        except AssertionError:
            continue
        raise AssertionError(f"{text!r} was parsed")

"""Modular Arithmetic (Simple): a sum of products, without brackets, modulo 5."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import below, inside, words

MODULUS = 5
PLUS, MINUS, TIMES = 5, 6, 7


class ModularArithmeticSimple(Task):
    """Digits and operators in turn, all uniform; * binds tighter; the value modulo 5.

    An expression has odd length, so an even n stands for n − 1.

    >>> ModularArithmeticSimple().answer(jnp.array([1, PLUS, 2, TIMES, 3]), 5)  # 1 + 6
    Array([2], dtype=int32)
    """

    name = "modular_arithmetic_simple"
    level = "R"
    description = "value of an expression without brackets, modulo 5"
    symbols = "01234+-*"
    output_symbols = "01234"
    chance = 0.2

    def input_length(self, length: Length) -> Length:
        """The largest odd number up to n."""
        return length - 1 + length % 2

    def output_length(self, length: Length) -> Length:
        """One digit."""
        return 1

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws digits at even places (from 0) and operators at odd ones."""
        length, places = self.input_length(length), int(self.input_length(maximum))
        drawn = words(key, places)
        is_digit = jnp.arange(places) % 2 == 0
        tokens = jnp.where(is_digit, below(drawn, MODULUS), PLUS + below(drawn, 3))
        inputs = jnp.where(inside(length, places), tokens, 0)
        return Example(inputs, self.answer(inputs, length))

    def answer(self, inputs: Int[Array, " input"], length: Length) -> Int[Array, " 1"]:
        """Returns the answer, reading an operator and a digit at a time."""

        def read(state: tuple[Array, Array], pair: tuple[Array, Array]):
            total, term = state  # the closed terms, and the product that may still grow
            operator, digit = pair
            times = operator == TIMES
            signed = jnp.where(operator == MINUS, -digit, digit)
            total = jnp.where(times, total, total + term)
            term = jnp.where(times, term * digit, signed) % MODULUS
            return (total, term), None

        # What lies after the end reads as "+ 0", whatever the buffer.
        operators = jnp.where(inside(length, inputs.shape[0]), inputs, PLUS)[1::2]
        start = (jnp.zeros_like(inputs[0]), inputs[0])
        (total, term), _ = jax.lax.scan(read, start, (operators, inputs[2::2]))
        return jnp.atleast_1d(total + term) % MODULUS

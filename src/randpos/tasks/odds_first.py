"""Odds First: the odd places of the string, then the even ones."""

import jax.numpy as jnp
from jaxtyping import Array, Int

from randpos.tasks.base import Length
from randpos.tasks.bit_strings import BitStringTask


class OddsFirst(BitStringTask):
    """Uniform bits s1 s2 s3 …; the answer is s1 s3 s5 … s2 s4 ….

    >>> OddsFirst().answer(jnp.array([0, 0, 1, 1, 0, 1, 0, 1]), 8)
    Array([0, 1, 0, 0, 0, 1, 1, 1], dtype=int32)
    """

    name = "odds_first"
    level = "CS"
    description = "the symbols at odd places (1st, 3rd, ...), then those at even places"

    def output_length(self, length: Length) -> Length:
        """|y| = n."""
        return length

    def answer(self, inputs: Int[Array, " n"], length: Length) -> Int[Array, " n"]:
        """Returns the answer."""
        place = jnp.arange(inputs.shape[0])
        odds = (length + 1) // 2
        source = jnp.where(place < odds, 2 * place, 2 * (place - odds) + 1)
        return jnp.where(place < length, inputs[source % inputs.shape[0]], 0)

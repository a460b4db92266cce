"""Duplicate String: the string, twice."""

import jax.numpy as jnp
from jaxtyping import Array, Int

from randpos.tasks.base import Length
from randpos.tasks.bit_strings import BitStringTask


class DuplicateString(BitStringTask):
    """Uniform bits, twice.

    >>> DuplicateString().answer(jnp.array([0, 1, 1]), 3)
    Array([0, 1, 1, 0, 1, 1], dtype=int32)
    """

    name = "duplicate_string"
    level = "CS"
    description = "the string twice"

    def output_length(self, length: Length) -> Length:
        """|y| = 2n."""
        return 2 * length

    def answer(self, inputs: Int[Array, " n"], length: Length) -> Int[Array, " 2*n"]:
        """Returns the answer."""
        place = jnp.arange(2 * inputs.shape[0])
        source = jnp.where(place < length, place, place - length)
        return jnp.where(place < 2 * length, inputs[source % inputs.shape[0]], 0)

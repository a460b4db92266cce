"""Reverse String: the string backwards."""

import jax.numpy as jnp
from jaxtyping import Array, Int

from randpos.tasks.base import Length
from randpos.tasks.bit_strings import BitStringTask


class ReverseString(BitStringTask):
    """Uniform bits, in reverse order.

    >>> ReverseString().answer(jnp.array([0, 1, 1, 0, 1]), 5)
    Array([1, 0, 1, 1, 0], dtype=int32)
    """

    name = "reverse_string"
    level = "DCF"
    description = "the string in reverse order"

    def output_length(self, length: Length) -> Length:
        """|y| = n."""
        return length

    def answer(self, inputs: Int[Array, " n"], length: Length) -> Int[Array, " n"]:
        """Returns the answer."""
        place = jnp.arange(inputs.shape[0])
        return jnp.where(place < length, inputs[jnp.maximum(length - 1 - place, 0)], 0)

"""Even Pairs: is the number of unequal neighbours (01 and 10) odd?"""

import jax.numpy as jnp
from jaxtyping import Array, Int

from randpos.tasks.base import Length
from randpos.tasks.bit_strings import BitStringTask


class EvenPairs(BitStringTask):
    """Uniform bits; the number of 01 and 10 together, modulo 2.

    >>> EvenPairs().answer(jnp.array([0, 0, 1, 1, 1, 0]), 6)  # 01 and 10, so even
    Array([0], dtype=int32)
    >>> EvenPairs().answer(jnp.array([0, 1, 0, 1, 0, 0, 1]), 7)
    Array([1], dtype=int32)
    """

    name = "even_pairs"
    level = "R"
    description = "number of 01 and 10 in the string, modulo 2"

    def output_length(self, length: Length) -> Length:
        """One bit."""
        return 1

    def answer(self, inputs: Int[Array, " input"], length: Length) -> Int[Array, " 1"]:
        """Returns the answer: the bits change an odd number of times if the ends differ."""
        return jnp.atleast_1d(inputs[0] ^ inputs[length - 1])

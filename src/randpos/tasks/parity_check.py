"""Parity Check: is the number of 1s odd?"""

import jax.numpy as jnp
from jaxtyping import Array, Int

from randpos.tasks.base import Length
from randpos.tasks.bit_strings import BitStringTask


class ParityCheck(BitStringTask):
    """Uniform bits; the number of 1s, modulo 2.

    >>> ParityCheck().answer(jnp.array([1, 1, 1, 0, 1, 0]), 6)
    Array([0], dtype=int32)
    """

    name = "parity_check"
    level = "R"
    description = "number of 1s in the string, modulo 2"
    permutation_invariant = True

    def output_length(self, length: Length) -> Length:
        """One bit."""
        return 1

    def answer(self, inputs: Int[Array, " input"], length: Length) -> Int[Array, " 1"]:
        """Returns the answer; zeros after the end do not change it."""
        return jnp.sum(inputs, keepdims=True) % 2

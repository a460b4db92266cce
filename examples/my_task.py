"""A task of your own: `randpos train --task my_task:Majority` in this directory trains on it.

A task is one class: its facts, the length of the output, and a pure function from a key to one
example. Two rules keep it correct in every program that uses it: `length` may be traced, so use
`jnp.where` instead of `if`; and nothing that is drawn may depend on `maximum`, the size of the
buffer, which `randpos.tasks.draws` sees to.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from randpos.tasks import Example, Task
from randpos.tasks.base import Length
from randpos.tasks.draws import bit_string


class Majority(Task):
    """Uniform bits; 1 if more than half of them are 1."""

    name = "majority"
    level = "CS"
    description = "is more than half of the string 1?"
    symbols = "01"
    output_symbols = "01"
    chance = 0.5
    permutation_invariant = True

    def output_length(self, length: Length) -> Length:
        """One bit."""
        return 1

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws a string of `length` bits; the rest of its `maximum` places is zero."""
        inputs = bit_string(key, length, maximum)
        majority = 2 * jnp.sum(inputs) > length
        return Example(inputs, jnp.atleast_1d(majority.astype(jnp.int32)))

"""Missing Duplicate: which bit is hidden in a string that is written twice?"""

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import below, packed, unpack, words

HIDDEN, FILLER = 2, 3


class MissingDuplicate(Task):
    """A uniform string of ⌊n/2⌋ bits twice, with one place hidden; the bit that was there.

    An odd n appends a filler. At n = 1 there is nothing to hide: the input is 1, and so is the
    answer.

    >>> MissingDuplicate().answer(jnp.array([0, 1, 1, 0, 0, HIDDEN, 1, 0]), 8)
    Array([1], dtype=int32)
    """

    name = "missing_duplicate"
    level = "CS"
    description = "the hidden bit of a string that is written twice"
    symbols = "01_#"
    output_symbols = "01"
    chance = 0.5

    def output_length(self, length: Length) -> Length:
        """One bit."""
        return 1

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws a string and the place to hide."""
        drawn = words(key, 1 + packed(maximum))
        half, place = length // 2, jnp.arange(maximum)
        hidden, string = below(drawn[0], 2 * half), unpack(drawn[1:], maximum)
        inputs = string[jnp.where(place < half, place, place - half) % maximum]
        inputs = jnp.where(place == hidden, HIDDEN, inputs)
        inputs = jnp.where(place == 2 * half, FILLER, inputs)
        inputs = jnp.where(place < length, inputs, 0)
        inputs = jnp.where(length == 1, place == 0, inputs).astype(jnp.int32)
        return Example(inputs, self.answer(inputs, length))

    def answer(self, inputs: Int[Array, " input"], length: Length) -> Int[Array, " 1"]:
        """Returns the answer: the bit half a string before or after the hidden one."""
        half = length // 2
        hidden = jnp.argmax(inputs == HIDDEN)
        twin = jnp.where(hidden < half, hidden + half, hidden - half)
        return jnp.atleast_1d(jnp.where(length == 1, 1, inputs[twin]))

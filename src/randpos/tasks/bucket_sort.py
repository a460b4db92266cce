"""Bucket Sort: the tokens in ascending order."""

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import below, inside, words

BUCKETS = 5


class BucketSort(Task):
    """Uniform tokens out of five, sorted.

    >>> BucketSort().answer(jnp.array([4, 2, 1, 0, 3, 0]), 6)
    Array([0, 0, 1, 2, 3, 4], dtype=int32)
    """

    name = "bucket_sort"
    level = "CS"
    description = "the symbols in ascending order"
    symbols = "01234"
    output_symbols = "01234"
    chance = 0.2
    permutation_invariant = True

    def output_length(self, length: Length) -> Length:
        """|y| = n."""
        return length

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws the tokens."""
        inputs = jnp.where(inside(length, maximum), below(words(key, maximum), BUCKETS), 0)
        return Example(inputs, self.answer(inputs, length))

    def answer(self, inputs: Int[Array, " n"], length: Length) -> Int[Array, " n"]:
        """Returns the answer by counting: a comparison sort of so few values is slower."""
        place = jnp.arange(inputs.shape[0])
        here = place < length
        ends = [jnp.sum(here & (inputs <= bucket)) for bucket in range(BUCKETS - 1)]
        filled = sum((place >= end for end in ends), start=jnp.zeros_like(place))
        return jnp.where(here, filled, 0)

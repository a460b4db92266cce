"""Multi-Query Recall: look up the values of keys. Not a task of the paper.

After the multi-query associative recall of Arora et al. (2024). Keys may repeat here, since
the alphabet has to serve every length; the last value of a key counts.
"""

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import below, inside, words

KEYS = 16
VALUES = 10


class MultiQueryRecall(Task):
    """n pairs of a key and a value, then ⌈n/2⌉ keys among them; the last value of each.

    >>> keys, values = jnp.array([3, 5, 3]), jnp.array([7, 1, 9])
    >>> MultiQueryRecall().answer(keys, values, jnp.array([5, 3]), 3)
    Array([1, 9], dtype=int32)
    """

    name = "multi_query_recall"
    level = "R"
    description = "the last value of each queried key; n pairs of key and value, then ⌈n/2⌉ keys"
    symbols = "0123456789abcdefghijklmnop"
    output_symbols = "0123456789"
    chance = 0.1

    def input_length(self, length: Length) -> Length:
        """Counts n pairs and ⌈n/2⌉ queries."""
        return 2 * length + self.output_length(length)

    def output_length(self, length: Length) -> Length:
        """|y| = ⌈n/2⌉."""
        return (length + 1) // 2

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws pairs, and for every query one of the pairs."""
        drawn = words(key, 3 * maximum)
        keys, values = below(drawn[0::3], KEYS), below(drawn[1::3], VALUES)
        queried = int(self.output_length(maximum))
        queries = keys[below(drawn[2::3][:queried], length)]
        place = jnp.arange(int(self.input_length(maximum)))
        pairs = jnp.stack([VALUES + keys, values], axis=1).reshape(-1)
        after = VALUES + queries[jnp.clip(place - 2 * length, 0, queried - 1)]
        inputs = jnp.where(place < 2 * length, pairs[jnp.minimum(place, 2 * maximum - 1)], after)
        inputs = jnp.where(place < self.input_length(length), inputs, 0)
        answer = self.answer(keys, values, queries, length)
        return Example(inputs, jnp.where(inside(self.output_length(length), queried), answer, 0))

    def answer(
        self,
        keys: Int[Array, " n"],
        values: Int[Array, " n"],
        queries: Int[Array, " query"],
        length: Length,
    ) -> Int[Array, " query"]:
        """Returns the last value of each queried key among the first `length` pairs."""
        pair = jnp.where(inside(length, keys.shape[0]), jnp.arange(keys.shape[0]), 0)
        last = jnp.zeros(KEYS, jnp.int32).at[keys].max(pair)
        return values[last[queries]]

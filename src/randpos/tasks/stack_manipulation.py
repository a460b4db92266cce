"""Stack Manipulation: what is on a stack after some pushes and pops?"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import below, inside, words

POP, PUSH_0, PUSH_1 = 2, 3, 4
END = 2


class StackManipulation(Task):
    """A stack from bottom to top, then actions; the final stack from top to bottom, then an end.

    The stack has a size uniform in 1..n−1 (at n = 1 there is just one bit); POP on an empty stack
    does nothing.

    >>> tokens = jnp.array([0, 1, 1, 0, PUSH_1, POP, POP])
    >>> StackManipulation().answer(tokens, 7)
    Array([1, 1, 0, 2, 0, 0, 0, 0], dtype=int32)
    """

    name = "stack_manipulation"
    level = "DCF"
    description = "the stack, top first, after actions: - pops, ₀ and ₁ push"
    symbols = "01-₀₁"
    output_symbols = "01."
    chance = 0.5
    terminator = END

    def output_length(self, length: Length) -> Length:
        """|y| = n + 1: room for a full stack and the end."""
        return length + 1

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws the size of the stack, its bits and the actions."""
        drawn = words(key, 1 + maximum)
        size = 1 + below(drawn[0], jnp.maximum(length - 1, 1))
        stack, actions = below(drawn[1:], 2), POP + below(drawn[1:], 3)
        inputs = jnp.where(inside(size, maximum), stack, actions)
        inputs = jnp.where(inside(length, maximum), inputs, 0)
        return Example(inputs, self.answer(inputs, length))

    def answer(self, inputs: Int[Array, " n"], length: Length) -> Int[Array, " n+1"]:
        """Returns the answer by running sums instead of a loop over the actions.

        Every token but POP pushes. If heights could be negative, the height would be a running sum
        of +1 and −1. Ignoring a POP on an empty stack raises all later heights by one, so the
        height is the sum minus its minimum so far (at most 0). A pushed symbol stays if the height
        never falls below its own again; it then lies (final height − own height) from the top.
        """
        pushes = inputs != POP
        steps = jnp.where(inside(length, inputs.shape[0]), jnp.where(pushes, 1, -1), 0)
        total = jnp.cumsum(steps)
        height = total - jnp.minimum(jax.lax.cummin(total), 0)
        stays = (steps == 1) & (height == jax.lax.cummin(height, reverse=True))
        symbol = (inputs == 1) | (inputs == PUSH_1)
        outputs = jnp.zeros(inputs.shape[0] + 1, jnp.int32)
        place = jnp.where(stays, height[-1] - height, outputs.shape[0])
        outputs = outputs.at[place].set(symbol.astype(jnp.int32), mode="drop")
        return jnp.where(jnp.arange(outputs.shape[0]) == height[-1], END, outputs)

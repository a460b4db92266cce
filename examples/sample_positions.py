"""Sample positions as the paper does: a random ordered subset of 1..L."""

import jax

from randpos import Ordinal, Randomized, sample_positions

key = jax.random.key(0)

# Ten tokens of a long range, one draw for the whole batch.
print(sample_positions(key, 10, maximum=2048))

# One draw per sequence.
print(sample_positions(key, 5, maximum=100, batch=3))

# Under jit the length may be traced: a sequence of 6 tokens in a buffer of 8. The places behind
# the sequence are padding.
draw = jax.jit(lambda key, length: Randomized(maximum=2048).sample(key, length, 8).query)
print(draw(key, 6))

# What a plain encoding uses.
print(Ordinal().sample(None, 8, 8).query)

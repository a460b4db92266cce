"""Build the paper's encoder from its parts, and call it on a padded batch."""

import jax
import jax.numpy as jnp

from randpos import Architecture, Encoder, get_combination

key = jax.random.key(0)
sizes = Architecture()  # the paper's: 5 layers, 8 heads, 64 channels
combination = get_combination("randomized-relative")
scheme = combination.scheme(maximum=2048)
encoding = combination.encoding(sizes.shape(2048), key=key)
model = Encoder(vocabulary=4, classes=2, encoding=encoding, architecture=sizes, key=key)

tokens = jax.random.randint(key, (3, 16), 0, 2)
positions = scheme.sample(key, 12, 16)  # 12 real tokens in a buffer of 16
mask = jnp.arange(16)[None] < 12
print(model(tokens, positions, mask=mask).shape)

# The logits of tokens 6 to 11 only: the last block then skips the others.
print(model(tokens, positions, mask=mask, outputs=(6, 6)).shape)

# All intermediate values, for analysis.
trace = model.trace(tokens, positions, mask=mask)
print(len(trace.activations), trace.attention[0].shape)

"""Randomize RoPE in an attention layer of your own."""

import jax
import jax.numpy as jnp

from randpos import apply_rope, sample_positions


def attention(q, k, v, positions):
    """Causal attention of one head on [time, channels], with rotary positions."""
    q, k = apply_rope(q, positions), apply_rope(k, positions)
    logits = q @ k.T / q.shape[-1] ** 0.5
    causal = jnp.tril(jnp.ones(logits.shape, bool))
    return jax.nn.softmax(jnp.where(causal, logits, -jnp.inf), axis=-1) @ v


key = jax.random.key(0)
q, k, v = jax.random.normal(key, (3, 20, 16))
plain = attention(q, k, v, jnp.arange(1, 21))
randomized = attention(q, k, v, sample_positions(key, 20, maximum=2048))  # a new key every step
print(plain.shape, float(jnp.abs(plain - randomized).max()) > 0.0)

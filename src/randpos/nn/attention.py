"""Softmax attention over head-major arrays, with a custom backward rule.

The rule saves the unnormalised weights once, replaces the row sums of the softmax's derivative by
the inner products of outputs and their gradients (equal, and T times smaller), and forms every
product so that the long axis is contiguous (docs/performance.md).

The mask comes from elsewhere: `assemble` (`training/batch.py`) marks padding, and `allowed_keys`
(`nn/views.py`) decides which keys a query sees.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

NEVER = -1e30
"""The logit of a forbidden key: its weight is exactly 0, and a row of them is not NaN."""


def _logits(
    q: Float[Array, "batch head query dim"],
    k: Float[Array, "batch head key dim"],
    extra: Float[Array, "#batch #head #query key"],
) -> Float[Array, "batch head query key"]:
    return (q * q.shape[-1] ** -0.5) @ jnp.swapaxes(k, -1, -2) + extra


def _extra(
    bias: Float[Array, "#batch #head query key"] | None,
    mask: Bool[Array, "#batch #head #query key"],
) -> Float[Array, "#batch #head #query key"]:
    return jnp.where(mask, 0.0 if bias is None else bias, NEVER)


def log_visible(
    mask: Bool[Array, "#batch #head #query key"],
) -> Float[Array, "#batch #head #query 1"]:
    """Returns the logarithm of the number of keys that each query may attend to, 0 if it is 0."""
    return jnp.log(jnp.maximum(jnp.sum(mask, axis=-1, keepdims=True), 1).astype(jnp.float32))


def _scaled(
    q: Float[Array, "batch head query dim"],
    bias: Float[Array, "#batch #head query key"] | None,
    scale: Float[Array, "#batch #head #query 1"] | None,
) -> tuple[Float[Array, "batch head query dim"], Float[Array, "#batch #head query key"] | None]:
    """Multiplies queries and bias, and with them the logits."""
    if scale is None:
        return q, bias
    return q * scale, None if bias is None else bias * scale


def softmax_weights(
    q: Float[Array, "batch head query dim"],
    k: Float[Array, "batch head key dim"],
    bias: Float[Array, "#batch #head query key"] | None,
    mask: Bool[Array, "#batch #head #query key"],
    scale: Float[Array, "#batch #head #query 1"] | None = None,
) -> Float[Array, "batch head query key"]:
    """Returns softmax(scale · (q·k / √d + bias)) over the keys that `mask` allows."""
    q, bias = _scaled(q, bias, scale)
    return jax.nn.softmax(_logits(q, k, _extra(bias, mask)), axis=-1)


def softmax_attention(
    q: Float[Array, "batch head query dim"],
    k: Float[Array, "batch head key dim"],
    v: Float[Array, "batch head key dim"],
    bias: Float[Array, "#batch #head query key"] | None,
    mask: Bool[Array, "#batch #head #query key"],
    scale: Float[Array, "#batch #head #query 1"] | None = None,
) -> Float[Array, "batch head query dim"]:
    """Returns `softmax_weights(q, k, bias, mask, scale) @ v`, faster in both directions."""
    q, bias = _scaled(q, bias, scale)
    return _attention(q, k, v, _extra(bias, mask))


def _transposed(x):
    """Transposes for real: XLA would fold it into the product, whose long axis then is strided."""
    return jax.lax.optimization_barrier(jnp.swapaxes(x, -1, -2))


@jax.custom_vjp
def _attention(q, k, v, extra):
    return _forward(q, k, v, extra)[0]


def _forward(q, k, v, extra):
    logits = _logits(q, k, extra)
    weights = jnp.exp(logits - jnp.max(logits, axis=-1, keepdims=True))
    total = jnp.sum(weights, axis=-1, keepdims=True)
    out = (weights @ v) / total
    return out, (q, k, v, extra, weights, total, out)


def _backward(saved, grad):
    q, k, v, extra, weights, total, out = saved
    q = q * q.shape[-1] ** -0.5
    across = jnp.sum(grad * out, axis=-1, keepdims=True) / total
    grad = grad / total
    d_logits = weights * (grad @ jnp.swapaxes(v, -1, -2) - across)
    d_v = _transposed(_transposed(grad) @ weights)
    d_k = _transposed(_transposed(q) @ d_logits)
    d_q = (d_logits @ k) * q.shape[-1] ** -0.5
    shared = [axis for axis, size in enumerate(extra.shape) if size != d_logits.shape[axis]]
    return d_q, d_k, d_v, jnp.sum(d_logits, axis=shared, keepdims=True)


_attention.defvjp(_forward, _backward)

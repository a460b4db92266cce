"""Softmax attention over head-major arrays, with a custom backward rule.

The rule saves the unnormalised weights once, replaces the row sums of the softmax's derivative by
the inner products of outputs and their gradients (equal, and T times smaller), and forms every
product so that the long axis is contiguous (docs/performance.md).

The mask comes from elsewhere: `assemble` (`training/batch.py`) marks padding, and `allowed_keys`
(`nn/views.py`) decides which keys a query sees.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Fixed(NamedTuple):
    """Terms of the logits whose keys are constants that all heads share, such as sinusoids."""

    queries: Float[Array, "batch head query channel"]
    keys: Float[Array, "channel key"]


CACHED_BYTES = 2**18
"""Where the logits of one head take more bytes, a CPU that takes no gradient computes head by head:
in 0.8 of the time at 501 tokens, and in the same at 300."""
NEVER = -1e30
"""The logit of a forbidden key: its weight is exactly 0, and a row of them is not NaN."""


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
    q, bias = _scaled(q * q.shape[-1] ** -0.5, bias, scale)
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) + _extra(bias, mask), axis=-1)


def softmax_attention(
    q: Float[Array, "batch head query dim"],
    k: Float[Array, "batch head key dim"],
    v: Float[Array, "batch head key dim"],
    bias: Float[Array, "#batch #head query key"] | None,
    mask: Bool[Array, "#batch #head #query key"],
    scale: Float[Array, "#batch #head #query 1"] | None = None,
    fixed: Fixed | None = None,
) -> Float[Array, "batch head query dim"]:
    """Returns `softmax_weights(q, k, bias, mask, scale) @ v`, faster in both directions.

    With `fixed`, its products are added to the logits like a bias, but no array of their size is
    formed: one product serves these and q·k.
    """
    q, bias = _scaled(q * q.shape[-1] ** -0.5, bias, scale)
    keys = None
    if fixed is not None:
        queries, _ = _scaled(fixed.queries, None, scale)
        q, keys = jnp.concatenate([q, queries], axis=-1), fixed.keys
    return _attention(q, k, v, _extra(bias, mask), keys)


def _sum_over_queries(
    weights: Float[Array, "batch head query key"], x: Float[Array, "batch head query dim"]
) -> Float[Array, "batch head key dim"]:
    """Returns `weightsᵀ @ x`, as the transpose of `xᵀ @ weights`.

    Both transposes are made in memory. Without the barriers, XLA folds them into the product,
    whose long axis is then strided: it takes two to three times as long.
    """
    in_memory = jax.lax.optimization_barrier
    product = in_memory(jnp.swapaxes(x, -1, -2)) @ weights
    return jnp.swapaxes(in_memory(product), -1, -2)


def _all_keys(k, fixed):
    """Returns the keys with the dimension before the place: long axes are contiguous."""
    k = jnp.swapaxes(k, -1, -2)
    if fixed is None:
        return k
    return jnp.concatenate([k, jnp.broadcast_to(fixed, (*k.shape[:2], *fixed.shape))], axis=-2)


@jax.custom_vjp
def _attention(q, k, v, extra, fixed):
    one_head = 4 * q.shape[-2] * k.shape[-2]
    if jax.default_backend() == "cpu" and one_head > CACHED_BYTES:
        return _head_by_head(q, k, v, extra, fixed)
    return _forward(q, k, v, extra, fixed)[0]


def _head_by_head(q, k, v, extra, fixed):
    """Computes one head of one example after the other; the logits of one stay in the cache."""

    def flat(x):
        return x.reshape(-1, *x.shape[2:])

    def head(data):
        q, k, v, own = jax.tree.map(lambda x: x[None, None], data)
        return _forward(q, k, v, extra if own is None else own, fixed)[0][0, 0]

    own = None  # a mask that all share is not copied for each
    if extra.shape[:2] != (1, 1):
        own = flat(jnp.broadcast_to(extra, (*q.shape[:2], *extra.shape[2:])))
    found = jax.lax.map(head, (flat(q), flat(k), flat(v), own))
    return found.reshape(*q.shape[:-1], v.shape[-1])


def _forward(q, k, v, extra, fixed):
    logits = q @ _all_keys(k, fixed) + extra
    weights = jnp.exp(logits - jnp.max(logits, axis=-1, keepdims=True))
    total = jnp.sum(weights, axis=-1, keepdims=True)
    out = (weights @ v) / total
    return out, (q, k, v, extra, fixed, weights, total, out)


def _backward(saved, grad):
    q, k, v, extra, fixed, weights, total, out = saved
    across = jnp.sum(grad * out, axis=-1, keepdims=True) / total
    grad = grad / total
    d_logits = weights * (grad @ jnp.swapaxes(v, -1, -2) - across)
    d_v = _sum_over_queries(weights, grad)
    d_k = _sum_over_queries(d_logits, q[..., : k.shape[-1]])
    d_q = d_logits @ jnp.swapaxes(_all_keys(k, fixed), -1, -2)
    shared = [axis for axis, size in enumerate(extra.shape) if size != d_logits.shape[axis]]
    return d_q, d_k, d_v, jnp.sum(d_logits, axis=shared, keepdims=True), None


_attention.defvjp(_forward, _backward)

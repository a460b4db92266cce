"""Attention by hand against the definition of softmax, in both directions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos.nn import attention
from randpos.nn.attention import Fixed, log_visible, softmax_attention, softmax_weights

B, H, Q, K, D = 2, 3, 4, 5, 6
BIASES = [None, (1, 1, Q, K), (B, 1, Q, K), (1, H, Q, K), (B, H, Q, K)]
MASKS = [(1, 1, 1, K), (B, 1, 1, K), (1, 1, Q, K), (B, H, Q, K)]
CASES = [(bias, MASKS[i % len(MASKS)]) for i, bias in enumerate(BIASES)] + [(None, MASKS[-1])]
"""Every shape of a bias and of a mask."""


def draw(shape, seed: int, scale: float = 1.0) -> jax.Array:
    return jnp.asarray(scale * np.random.default_rng(seed).normal(size=shape), jnp.float32)


def inputs(bias, scale: float = 1.0):
    q, k, v = draw((B, H, Q, D), 0, scale), draw((B, H, K, D), 1, scale), draw((B, H, K, D), 2)
    return q, k, v, None if bias is None else draw(bias, 3)


def some(shape) -> jax.Array:
    """A mask that leaves every query a key."""
    return (draw(shape, 4) > 0.3).at[..., 1].set(True)


@jax.jit
def by_definition(q, k, v, bias, mask):
    logits = jnp.einsum("bhqd,bhkd->bhqk", q, k) / jnp.sqrt(D)
    logits = jnp.where(mask, logits if bias is None else logits + bias, -jnp.inf)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(logits), v)


def gradients(attention, q, k, v, bias, mask):
    def loss(q, k, v, bias):
        return jnp.sum(attention(q, k, v, bias, mask) * draw((B, H, Q, D), 5))

    return jax.jit(jax.grad(loss, (0, 1, 2) if bias is None else (0, 1, 2, 3)))(q, k, v, bias)


@pytest.mark.parametrize(("bias", "mask"), CASES, ids=str)
def test_attention_and_its_gradients_are_those_of_a_softmax_of_products_and_biases(bias, mask):
    given = (*inputs(bias), some(mask))
    expected = by_definition(*given)
    q, k, v, bias, allowed = given
    np.testing.assert_allclose(softmax_attention(*given), expected, atol=2e-6)
    np.testing.assert_allclose(softmax_weights(q, k, bias, allowed) @ v, expected, atol=2e-6)
    found = gradients(softmax_attention, *given)
    for first, other in zip(found, gradients(by_definition, *given), strict=True):
        assert first.shape == other.shape
        np.testing.assert_allclose(first, other, atol=5e-6)


@pytest.mark.parametrize(("bias", "mask"), CASES, ids=str)
def test_head_by_head_attention_is_the_same(bias, mask, monkeypatch):
    given = (*inputs(bias), some(mask))

    def program():
        return str(jax.make_jaxpr(lambda *x: softmax_attention(*x))(*given))

    together = softmax_attention(*given)
    assert "scan" not in program()
    monkeypatch.setattr(attention, "CACHED_BYTES", 0)
    assert "scan" in program()
    np.testing.assert_allclose(softmax_attention(*given), together, atol=1e-6)


@pytest.mark.parametrize("cached", [0, attention.CACHED_BYTES], ids=["head by head", "together"])
def test_fixed_keys_act_as_a_bias_of_their_products(cached, monkeypatch):
    monkeypatch.setattr(attention, "CACHED_BYTES", cached)
    q, k, v, _ = inputs(None)
    mask, scale = some((B, 1, 1, K)), 1 + draw((B, 1, Q, 1), 8) ** 2
    queries, keys = draw((B, H, Q, 7), 6), draw((7, K), 7)

    def fixed(q, k, v, queries):
        return softmax_attention(q, k, v, None, mask, scale, Fixed(queries, keys))

    def biased(q, k, v, queries):
        return softmax_attention(q, k, v, queries @ keys, mask, scale)

    def derivatives(function):
        def weighted(*given):
            return jnp.sum(function(*given) * draw((B, H, Q, D), 5))

        return jax.jit(jax.grad(weighted, (0, 1, 2, 3)))(q, k, v, queries)

    np.testing.assert_allclose(fixed(q, k, v, queries), biased(q, k, v, queries), atol=2e-6)
    for first, other in zip(derivatives(fixed), derivatives(biased), strict=True):
        np.testing.assert_allclose(first, other, atol=5e-6)


def test_a_scale_multiplies_products_and_biases():
    q, k, v, bias = inputs((1, H, Q, K))
    mask = jnp.tril(jnp.ones((Q, K), bool))[None, None]
    scale = log_visible(mask)
    np.testing.assert_allclose(scale[0, 0, :, 0], np.log([1, 2, 3, 4]), rtol=1e-6)
    assert float(log_visible(jnp.zeros((1, 1, 1, K), bool)).sum()) == 0.0
    logits = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(D) + np.asarray(bias)
    logits = np.where(mask, logits * np.log([1, 2, 3, 4])[:, None], -np.inf)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    found = softmax_weights(q, k, bias, mask, scale)
    np.testing.assert_allclose(found, weights, atol=2e-6)
    np.testing.assert_allclose(
        softmax_attention(q, k, v, bias, mask, scale), weights @ np.asarray(v), atol=2e-6
    )


def test_forbidden_keys_get_exactly_nothing():
    q, k, _, _ = inputs(None)
    mask = some((B, 1, 1, K))
    weights = softmax_weights(q, k, None, mask)
    assert not np.asarray(weights)[~np.broadcast_to(mask, weights.shape)].any()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)


@pytest.mark.parametrize("shape", [None, BIASES[-1]], ids=str)
def test_rows_without_any_key_stay_finite(shape):
    given = inputs(shape)
    mask = jnp.ones((B, 1, 1, K), bool).at[0].set(False)
    assert np.isfinite(softmax_attention(*given, mask)).all()
    assert all(np.isfinite(g).all() for g in gradients(softmax_attention, *given, mask))


def test_large_logits_stay_finite():
    given = (*inputs(BIASES[-1], scale=300.0), some((B, 1, 1, K)))
    np.testing.assert_allclose(softmax_attention(*given), by_definition(*given), atol=1e-2)
    assert all(np.isfinite(g).all() for g in gradients(softmax_attention, *given))


def test_attention_can_be_vectorised_over_members():
    q, k, v, bias = inputs((1, H, Q, K))
    mask = some((B, 1, 1, K))
    assert bias is not None
    q, k, v, bias = (jnp.stack([x, 2 * x]) for x in (q, k, v, bias))
    together = jax.vmap(softmax_attention, in_axes=(0, 0, 0, 0, None))(q, k, v, bias, mask)
    alone = softmax_attention(q[1], k[1], v[1], bias[1], mask)
    np.testing.assert_allclose(together[1], alone, atol=1e-6)

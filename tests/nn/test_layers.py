"""The layers: how they start, what they compute, and the gradient written by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos.nn.layers import LayerNorm, Linear, relu, truncated_normal

KEY = jax.random.key(5)


def test_parameters_start_truncated_normal():
    drawn = np.asarray(truncated_normal(KEY, (40_000,), 0.02))
    assert np.abs(drawn).max() <= 0.04
    # The standard deviation of a standard normal that is cut off at ±2 is 0.8796.
    assert drawn.std() == pytest.approx(0.02 * 0.8796, rel=0.02)
    assert drawn.mean() == pytest.approx(0, abs=5e-4)


def test_a_linear_layer_starts_by_its_fan_in_and_without_bias():
    layer = Linear(100, 400, bias=True, key=KEY)
    assert np.asarray(layer.weight).std() == pytest.approx(0.1 * 0.8796, rel=0.02)
    assert layer.bias is not None
    assert not layer.bias.any()


@pytest.mark.parametrize(("size", "out"), [(3, 7), (7, 3), (4, 4)])
def test_gradients_of_a_linear_layer_are_those_of_a_product(size, out):
    layer = eqx.tree_at(lambda m: m.bias, Linear(size, out, bias=True, key=KEY), jnp.ones(out))
    rng = np.random.default_rng(0)
    x, g = (jnp.asarray(rng.normal(size=(2, 5, n)), jnp.float32) for n in (size, out))
    y, back = jax.vjp(lambda m, x: m(x), layer, x)
    np.testing.assert_allclose(y, np.asarray(x) @ np.asarray(layer.weight) + 1, atol=1e-5)
    d_layer, d_x = back(g)
    np.testing.assert_allclose(d_layer.weight, np.einsum("bti,bto->io", x, g), atol=1e-5)
    np.testing.assert_allclose(d_layer.bias, np.sum(g, (0, 1)), atol=1e-5)
    np.testing.assert_allclose(d_x, np.asarray(g) @ np.asarray(layer.weight).T, atol=1e-5)


def test_a_norm_centres_and_scales_each_token():
    layer = LayerNorm(4)
    layer = eqx.tree_at(lambda n: (n.scale, n.offset), layer, (jnp.arange(4.0), 3 * jnp.ones(4)))
    x = np.array([[1.0, 2.0, 3.0, 6.0], [1e3, 1e3, 1e3, 1e3]])
    unit = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(layer(jnp.asarray(x)), unit * np.arange(4) + 3, atol=1e-5)


def test_derivatives_by_hand_are_those_of_the_definitions():
    def norm(x, layer):
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred**2).mean(-1, keepdims=True)
        return centred / jnp.sqrt(variance + 1e-5) * layer.scale + layer.offset

    def gradient(function, *arguments):
        weights = jax.random.normal(jax.random.key(3), (5, 7))
        return jax.grad(lambda *a: jnp.sum(weights * function(*a)), range(len(arguments)))(
            *arguments
        )

    x = jax.random.normal(jax.random.key(1), (5, 7))
    layer = eqx.tree_at(lambda n: n.scale, LayerNorm(7), jnp.arange(1.0, 8))
    found = gradient(lambda x, layer: layer(x), x, layer)
    for left, right in zip(
        jax.tree.leaves(found), jax.tree.leaves(gradient(norm, x, layer)), strict=True
    ):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(gradient(relu, x)[0], gradient(jax.nn.relu, x)[0])

"""Linear and LayerNorm: the layers of the model."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key


def truncated_normal(
    key: Key[Array, ""], shape: tuple[int, ...], sigma: float
) -> Float[Array, "..."]:
    """Draws from σ times a standard normal cut off at ±2."""
    return sigma * jax.random.truncated_normal(key, -2.0, 2.0, shape)


@jax.custom_vjp
def _product(x, weight):
    return x @ weight


def _product_backward(saved, grad):
    """Forms the gradient of a tall weight as its transpose, twice as fast on a CPU."""
    x, weight = saved
    d_x = grad @ weight.T
    if weight.shape[0] <= weight.shape[1]:
        return d_x, x.T @ grad
    return d_x, jax.lax.optimization_barrier(grad.T @ x).T


_product.defvjp(lambda x, weight: (x @ weight, (x, weight)), _product_backward)


@jax.custom_vjp
def relu(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Returns max(x, 0); its derivative is taken from the result, which is saved anyway."""
    return jnp.maximum(x, 0)


def _relu_forward(x):
    y = jnp.maximum(x, 0)
    return y, y


relu.defvjp(_relu_forward, lambda y, grad: (jnp.where(y > 0, grad, 0),))


class Linear(eqx.Module):
    """x W + b; W starts truncated normal with σ = 1/√fan_in, b at 0."""

    weight: Float[Array, "input output"]
    bias: Float[Array, " output"] | None

    def __init__(self, size: int, out: int, *, bias: bool, key: Key[Array, ""]) -> None:
        self.weight = truncated_normal(key, (size, out), size**-0.5)
        self.bias = jnp.zeros(out) if bias else None

    def __call__(self, x: Float[Array, "*batch input"]) -> Float[Array, "*batch output"]:
        """Applies the map to the last axis."""
        y = _product(x.reshape(-1, x.shape[-1]), self.weight)
        y = y if self.bias is None else y + self.bias
        return y.reshape(*x.shape[:-1], y.shape[-1])


class LayerNorm(eqx.Module):
    """(x − mean) / √(variance + 1e-5) · scale + offset over the last axis."""

    scale: Float[Array, " dim"]
    offset: Float[Array, " dim"]

    def __init__(self, size: int) -> None:
        self.scale = jnp.ones(size)
        self.offset = jnp.zeros(size)

    def __call__(self, x: Float[Array, "*batch dim"]) -> Float[Array, "*batch dim"]:
        """Normalises, scales and shifts."""
        return _normalise(x) * self.scale + self.offset


@jax.custom_vjp
def _normalise(x):
    return _normalise_forward(x)[0]


def _normalise_forward(x):
    """Saves two arrays, where autodiff would save five."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
    factor = jax.lax.rsqrt(variance + 1e-5)
    return centred * factor, (centred * factor, factor)


def _normalise_backward(saved, grad):
    normal, factor = saved
    along = normal * jnp.mean(grad * normal, axis=-1, keepdims=True)
    return ((grad - jnp.mean(grad, axis=-1, keepdims=True) - along) * factor,)


_normalise.defvjp(_normalise_forward, _normalise_backward)

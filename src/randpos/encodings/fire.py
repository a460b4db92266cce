"""FIRE, functional interpolation of distances (Li et al., 2024)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from randpos.encodings.base import Encoding, LayerNumber, Logits, Mask, Queries, View
from randpos.nn.layers import truncated_normal
from randpos.positions import Positions
from randpos.settings import Shape

WIDTH = 32
RATE = 0.1
THRESHOLD = 512.0


class FIRE(Encoding):
    """Adds f(ψ(|δ|) / ψ(max(threshold, range))), with f a small MLP and ψ(x) = log(1 + c x).

    `range` is the query's largest distance to a key that it may attend to, so that the argument
    stays in [0, 1] at any length. For an encoder the argument carries the sign of the offset:
    keys to the left are positive, which under a causal mask is the published form.
    """

    name = "fire"
    description = "An MLP of the log-distance relative to the query's range of distances."
    reference = "Li et al., 2024"
    label = "FIRE"
    color = "#a6611a"
    marker = "h"
    pytorch = True
    readings = ("positions", "distances")

    rate: Float[Array, " layer"]
    threshold: Float[Array, " layer"]
    inner: Float[Array, "layer width"]
    inner_bias: Float[Array, "layer width"]
    outer: Float[Array, "layer width head"]
    outer_bias: Float[Array, "layer head"]

    def __init__(self, shape: Shape, *, key: Key[Array, ""]) -> None:
        super().__init__(shape, key=key)
        to_inner, to_outer = jax.random.split(key)
        layers, heads = shape.layers, shape.heads
        # Both are kept in units of their start, so that a step of Adam changes each in proportion.
        self.rate = jnp.ones(layers)
        self.threshold = jnp.ones(layers)
        self.inner = truncated_normal(to_inner, (layers, WIDTH), 1.0)
        self.inner_bias = jnp.zeros((layers, WIDTH))
        self.outer = truncated_normal(to_outer, (layers, WIDTH, heads), WIDTH**-0.5)
        self.outer_bias = jnp.zeros((layers, heads))

    def precompute(
        self, positions: Positions, mask: Mask
    ) -> tuple[Int[Array, "query key"], Int[Array, "#batch query 1"]]:
        """Returns the offsets and each query's range of distances."""
        seen = jnp.any(mask, axis=1) & jnp.ones(positions.offsets.shape, bool)
        distances = jnp.where(seen, jnp.abs(positions.offsets), 0)
        return positions.offsets, jnp.max(distances, axis=-1, keepdims=True)

    def precompute_layer(
        self,
        precomputed: tuple[Int[Array, "query key"], Int[Array, "#batch query 1"]],
        layer: LayerNumber,
    ) -> Float[Array, "#batch head query key"]:
        """Applies the layer's MLP to the normalised distances."""
        offsets, span = precomputed
        rate = RATE * jnp.abs(self.rate[layer])
        threshold = THRESHOLD * jnp.abs(self.threshold[layer])
        scale = jnp.log1p(rate * jnp.maximum(threshold, span)) + 1e-6
        z = jnp.sign(offsets) * jnp.log1p(rate * jnp.abs(offsets)) / scale
        hidden = jax.nn.relu(z[..., None] * self.inner[layer] + self.inner_bias[layer])
        return jnp.moveaxis(hidden @ self.outer[layer] + self.outer_bias[layer], -1, 1)

    def bias(self, q: Queries, view: View, layer: LayerNumber) -> Logits:
        """Returns the output of the MLP."""
        return view.per_layer

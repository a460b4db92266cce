"""KERPLE's logarithmic kernel (Chi et al., 2022)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from randpos.encodings.alibi import asymmetric_distance
from randpos.encodings.base import Encoding, LayerNumber, Logits, Mask, Queries, View
from randpos.positions import Positions
from randpos.settings import Shape


class KERPLE(Encoding):
    """Adds -r1 log(1 + r2 · distance), with positive r1 and r2 learned per layer and head.

    In an encoder distances to the left are half a step shorter, as for ALiBi. The positive numbers
    are the softplus of the parameters; both start at 1.
    """

    name = "kerple"
    description = "A penalty on the logits logarithmic in the distance, with learned scales."
    reference = "Chi et al., 2022"
    label = "KERPLE"
    color = "#5e7d3a"
    marker = "p"
    pytorch = True
    readings = ("positions", "distances")

    strength: Float[Array, "layer head"]
    rate: Float[Array, "layer head"]

    def __init__(self, shape: Shape, *, key: Key[Array, ""]) -> None:
        super().__init__(shape, key=key)
        start = jnp.log(jnp.expm1(jnp.ones((shape.layers, shape.heads))))
        self.strength = start
        self.rate = start

    def precompute(self, positions: Positions, mask: Mask) -> Float[Array, "query key"]:
        """Computes the distances."""
        return asymmetric_distance(positions.offsets, self.shape.one_sided)

    def precompute_layer(
        self, precomputed: Float[Array, "query key"], layer: LayerNumber
    ) -> Float[Array, "1 head query key"]:
        """Computes the penalties of a layer."""
        strength = jax.nn.softplus(self.strength[layer])[None, :, None, None]
        rate = jax.nn.softplus(self.rate[layer])[None, :, None, None]
        return -strength * jnp.log1p(rate * precomputed)

    def bias(self, q: Queries, view: View, layer: LayerNumber) -> Logits:
        """Returns the penalties."""
        return view.per_layer

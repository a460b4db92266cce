"""Attention with linear biases (Press et al., 2022), for encoders and decoders."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from randpos.encodings.base import Encoding, LayerNumber, Logits, Mask, Queries, View
from randpos.positions import Positions


def slopes(heads: int) -> np.ndarray:
    """Returns the slope of each head: 2^(-8/h), 2^(-16/h), …, 2^-8 for h a power of two.

    Otherwise the authors take the slopes of the power of two below, and fill up with every second
    slope of the power of two above.

    >>> slopes(4).tolist()
    [0.25, 0.0625, 0.015625, 0.00390625]
    >>> slopes(3).tolist()
    [0.0625, 0.00390625, 0.25]
    """
    below = 2 ** int(np.log2(heads))
    first = 2.0 ** (-8.0 * np.arange(1, below + 1) / below)
    between = 2.0 ** (-4.0 * np.arange(1, 2 * below, 2) / below)
    return np.concatenate([first, between[: heads - below]])


def asymmetric_distance(
    offsets: Int[Array, "query key"], one_sided: bool = False
) -> Float[Array, "query key"]:
    """Returns distances in which keys to the left are half a step nearer.

    Without the half step the bias would not distinguish left from right. A decoder (`one_sided`)
    has no keys to the right, and its distances are those of the authors.
    """
    if one_sided:
        return jnp.abs(offsets).astype(jnp.float32)
    return jnp.abs(offsets) - 0.5 * (offsets > 0)


class ALiBi(Encoding):
    """Subtracts a multiple of the distance from the scaled logits; nothing is learned."""

    name = "alibi"
    description = "A penalty on the logits proportional to the distance."
    reference = "Press et al., 2022"
    label = "ALiBi"
    color = "#009e73"
    marker = "^"
    pytorch = True
    readings = ("distances", "positions")

    def precompute(self, positions: Positions, mask: Mask) -> Float[Array, "1 head query key"]:
        """Computes the penalties, which all layers share."""
        slope = jnp.asarray(slopes(self.shape.heads), jnp.float32)
        distance = asymmetric_distance(positions.offsets, self.shape.one_sided)
        return -slope[None, :, None, None] * distance

    def bias(self, q: Queries, view: View, layer: LayerNumber) -> Logits:
        """Returns the penalties."""
        return view.precomputed

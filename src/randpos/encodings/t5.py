"""T5's bias per bucket of distances (Raffel et al., 2020)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from randpos.encodings.base import Encoding, LayerNumber, Logits, Mask, Queries, View, per_head
from randpos.positions import Positions
from randpos.settings import Shape

BUCKETS = 32
FARTHEST = 128


def bucket(offsets: Int[Array, "query key"], one_sided: bool = False) -> Int[Array, "query key"]:
    """Sorts offsets into 16 buckets for either side: 8 exact distances, then logarithmic ones.

    A decoder (`one_sided`) has 32 buckets for the keys to the left, 16 of them exact. The bounds
    of the logarithmic buckets are integers, so that no rounding can move a distance across one;
    all distances from 91 on (113 in a decoder) share the last bucket.

    >>> import jax.numpy as jnp
    >>> bucket(jnp.array([[0, 1, 7, 8, 12, 16, 90, 91, 128, 5000]])).tolist()
    [[0, 1, 7, 8, 9, 10, 14, 15, 15, 15]]
    >>> bucket(jnp.array([[-1, -8]])).tolist()
    [[17, 24]]
    >>> bucket(jnp.array([[0, 15, 16, 18, 19, 112, 113, 128]]), one_sided=True).tolist()
    [[0, 15, 16, 16, 17, 30, 31, 31]]
    """
    exact = BUCKETS // 2 if one_sided else BUCKETS // 4
    bounds = np.concatenate(
        [
            np.arange(1, exact + 1),
            np.ceil(exact * (FARTHEST / exact) ** (np.arange(1, exact) / exact) - 1e-9),
        ]
    ).astype(np.int32)
    side = 0 if one_sided else jnp.where(offsets < 0, BUCKETS // 2, 0)
    return side + jnp.searchsorted(jnp.asarray(bounds), jnp.abs(offsets), side="right")


class T5(Encoding):
    """Adds a learned number per head and bucket of distances, the same in all layers."""

    name = "t5"
    description = "A learned bias per bucket of distances, shared by the layers."
    reference = "Raffel et al., 2020"
    label = "T5"
    color = "#8c6bb1"
    marker = "X"
    pytorch = True
    readings = ("positions", "distances")

    biases: Float[Array, "bucket head"]

    def __init__(self, shape: Shape, *, key: Key[Array, ""]) -> None:
        super().__init__(shape, key=key)
        self.biases = 0.02 * jax.random.normal(key, (BUCKETS, shape.heads))

    def precompute(self, positions: Positions, mask: Mask) -> Int[Array, "query key"]:
        """Finds the bucket of every offset."""
        return bucket(positions.offsets, self.shape.one_sided)

    def precompute_layer(
        self, precomputed: Int[Array, "query key"], layer: LayerNumber
    ) -> Float[Array, "1 head query key"]:
        """Looks the biases up."""
        return per_head(self.biases[precomputed])

    def bias(self, q: Queries, view: View, layer: LayerNumber) -> Logits:
        """Returns the looked-up biases."""
        return view.per_layer

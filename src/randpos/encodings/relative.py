"""Relative encoding (Dai et al., 2019, Transformer-XL)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from randpos.encodings.base import Encoding, Keys, Logits, Mask, Queries, Shape, View
from randpos.encodings.sinusoids import sinusoid
from randpos.errors import UserError
from randpos.layers import truncated_normal
from randpos.positions import Positions


class Relative(Encoding):
    """Logits (q + u)·k + (q + v)·(W_r R(δ)), scaled by 1/√d, with R the sinusoid of the offset.

    R(δ) is the same for all examples of a batch, so W_r R(δ) is formed once per batch and layer.
    """

    name = "relative"
    description = "Attention to the sinusoid of the signed offset between tokens."
    reference = "Dai et al., 2019"
    readings = ("positions", "distances", "released")

    projection: Float[Array, "layer dim dim"]
    content_bias: Float[Array, "layer head head_dim"]
    position_bias: Float[Array, "layer head head_dim"]

    def __init__(self, shape: Shape, *, key: Key[Array, ""]) -> None:
        if shape.dim % 2:
            raise UserError(
                f"relative pairs channels, but dim={shape.dim} is odd; pass an even dim."
            )
        super().__init__(shape, key=key)
        to_w, to_u, to_v = jax.random.split(key, 3)
        square = (shape.layers, shape.dim, shape.dim)
        self.projection = truncated_normal(to_w, square, shape.dim**-0.5)
        per_head = (shape.layers, shape.heads, shape.head_dim)
        self.content_bias = 0.02 * jax.random.normal(to_u, per_head)
        self.position_bias = 0.02 * jax.random.normal(to_v, per_head)

    def share(self, positions: Positions, mask: Mask) -> Float[Array, "query key dim"]:
        """Computes R(δ) for every pair of tokens."""
        return sinusoid(positions.offsets, self.shape.dim)

    def table(
        self, shared: Float[Array, "query key dim"], layer: int
    ) -> Float[Array, "head query head_dim key"]:
        """Computes W_r R(δ).

        Keys come last in memory: the product with the queries of all examples then is one matrix
        product per head and place, three times as fast as with channels last.
        """
        shape = self.shape
        projection = self.projection[layer].reshape(shape.dim, shape.heads, shape.head_dim)
        return jnp.einsum("qkc,chd->hqdk", shared, projection)

    def rotate(self, q: Queries, k: Keys, view: View, layer: int) -> tuple[Queries, Keys]:
        """Adds u to the queries."""
        return q + self.content_bias[layer][:, None, :], k

    def bias(self, q: Queries, view: View, layer: int) -> Logits:
        """Returns (q + v)·(W_r R(δ)) / √d."""
        q = (q + self.position_bias[layer][:, None, :]) * q.shape[-1] ** -0.5
        return _look_up(q, view.table)


@jax.custom_vjp
def _look_up(q, table):
    """Returns einsum("bhqd,hqdk->bhqk"), with heads and places as the axes of a batch of products.

    Left to einsum and autodiff, other orders of the axes are chosen in the backward pass, which
    made the attention of a layer 1.7 times as slow (docs/performance.md).
    """
    return jnp.transpose(jnp.transpose(q, (1, 2, 0, 3)) @ table, (2, 0, 1, 3))


def _look_up_backward(saved, grad):
    q, table = saved
    grad = jnp.transpose(grad, (1, 2, 0, 3))
    d_q = jnp.transpose(grad @ jnp.swapaxes(table, -1, -2), (2, 0, 1, 3))
    return d_q, jnp.transpose(q, (1, 2, 3, 0)) @ grad


_look_up.defvjp(lambda q, table: (_look_up(q, table), (q, table)), _look_up_backward)

"""Relative encoding (Dai et al., 2019, Transformer-XL)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from randpos.encodings.base import Encoding, Keys, LayerNumber, Logits, Mask, Queries, View
from randpos.encodings.sinusoids import sin_cos, sinusoid
from randpos.errors import UserError
from randpos.nn.attention import Fixed, softmax_attention
from randpos.nn.layers import truncated_normal
from randpos.positions import Positions
from randpos.settings import Shape

TABLE_BYTES = 2**21
"""The largest W_r R(δ) of a layer that is formed: 90 tokens at the paper's width. On a CPU it is
fastest where the second-level cache holds it, and no slower up to here (docs/performance.md)."""


class Waves(NamedTuple):
    """Sines and cosines of the positions, from which those of all differences follow.

    s sin(a - b) + c cos(a - b) = cos b (s sin a + c cos a) + sin b (c sin a - s cos a)
    """

    sin: Float[Array, "query pair"]
    cos: Float[Array, "query pair"]
    keys: Float[Array, "dim key"]
    """The cosines of the keys' angles above their sines."""


class Relative(Encoding):
    """Logits (q + u)·k + (q + v)·(W_r R(δ)), scaled by 1/√d, with R the sinusoid of the offset.

    W_r R(δ) is the same for all examples that share their positions, and is formed once per batch.
    Where it would be too large, or each example has its own, and offsets are differences of
    positions, (q + v) W_r is formed instead: turned by the query's angles, its product with the
    sinusoids of the keys is the same, and nothing of the size of R(δ) is needed.
    """

    name = "relative"
    description = "Attention to the sinusoid of the signed offset between tokens."
    reference = "Dai et al., 2019"
    label = "Relative"
    color = "#0a7fc4"
    marker = "s"
    pytorch = True
    readings = ("positions", "distances", "released")
    scales = True

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

    def precompute(self, positions: Positions, mask: Mask) -> Waves | Float[Array, "query key dim"]:
        """Computes R(δ) for every pair of tokens, or the sinusoids of all positions."""
        small = _table_bytes(self.shape, positions.offsets.size) <= TABLE_BYTES
        if not positions.differences or (small and positions.shared):
            return sinusoid(positions.offsets, self.shape.dim, positions.largest)
        largest = positions.largest
        sin, cos = sin_cos(positions.key, self.shape.dim // 2, largest)
        keys = jnp.concatenate([cos, sin], axis=-1).T
        return Waves(*sin_cos(positions.query, self.shape.dim // 2, largest), keys)

    def precompute_layer(
        self, precomputed: Waves | Float[Array, "query key dim"], layer: LayerNumber
    ) -> Float[Array, "head query head_dim key"] | None:
        """Computes W_r R(δ) where it is needed.

        Keys come last in memory: the product with the queries of all examples then is one matrix
        product per head and place, three times as fast as with channels last.
        """
        if isinstance(precomputed, Waves):
            return None
        return jnp.einsum("qkc,hdc->hqdk", precomputed, self.per_head(layer))

    def per_head(self, layer: LayerNumber) -> Float[Array, "head head_dim dim"]:
        """Returns the transpose of W_r, split into heads."""
        shape = self.shape
        return self.projection[layer].T.reshape(shape.heads, shape.head_dim, shape.dim)

    def transform(
        self, q: Queries, k: Keys, view: View, layer: LayerNumber
    ) -> tuple[Queries, Keys]:
        """Adds u to the queries."""
        return q + self.content_bias[layer][:, None, :], k

    def bias(self, q: Queries, view: View, layer: LayerNumber) -> Logits:
        """Returns (q + v)·(W_r R(δ)) / √d."""
        if view.per_layer is not None:
            return _look_up(self.position_queries(q, layer), view.per_layer)
        return _swap(self.turned(q, view, layer) @ view.precomputed.keys)

    def position_queries(self, q: Queries, layer: LayerNumber) -> Queries:
        """Returns (q + v) / √d."""
        return (q + self.position_bias[layer][:, None, :]) * q.shape[-1] ** -0.5

    def turned(
        self, q: Queries, view: View, layer: LayerNumber
    ) -> Float[Array, "head batch query channel"]:
        """Returns (q + v) W_r / √d, turned by the angles of the queries."""
        queries = _swap(self.position_queries(q, layer))
        return _turn(queries, self.per_head(layer), view.precomputed)

    def attend(
        self,
        x: Float[Array, "batch query model"],
        q: Queries,
        k: Keys,
        v: Keys,
        view: View,
        layer: LayerNumber,
    ) -> Queries:
        """Attends with heads as the first axis, in which order the bias is formed."""
        bias = fixed = None
        if view.per_layer is None:
            fixed = Fixed(self.turned(q, view, layer), view.precomputed.keys)
        else:
            bias = _swap(self.bias(q, view, layer))
        q, k = self.transform(q, k, view, layer)
        scale = None if view.scale is None else _swap(view.scale)
        mask = _swap(view.mask)
        return _swap(softmax_attention(_swap(q), _swap(k), _swap(v), bias, mask, scale, fixed))

    @classmethod
    def operations(cls, shape: Shape, tokens: int) -> float:
        """Returns those of W_r and of the product with the sinusoids, or with W_r R(δ)."""
        if _table_bytes(shape, tokens**2) <= TABLE_BYTES:
            return 2 * tokens * shape.dim
        return 2 * shape.dim**2 + 2 * tokens * shape.dim * shape.heads


def _table_bytes(shape: Shape, pairs: int) -> int:
    """Returns the size of W_r R(δ) for pairs of tokens."""
    return 4 * pairs * shape.dim


# Both products have a custom backward rule. It differs from autodiff's only in the order of axes,
# but that makes a layer's attention 1.2 (waves) and 1.7 (table) times as fast on a CPU
# (docs/performance.md).


def _swap(x):
    return jnp.swapaxes(x, 0, 1)


@jax.custom_vjp
def _turn(q, projection, waves):
    """Projects queries [head batch query dim] and turns them by their angles."""
    w = q.reshape(len(q), -1, q.shape[-1]) @ projection
    s, c = jnp.split(w.reshape(*q.shape[:-1], -1), 2, axis=-1)
    turned = [s * waves.sin + c * waves.cos, c * waves.sin - s * waves.cos]
    return jnp.concatenate(turned, axis=-1)


def _turn_backward(saved, grad):
    q, projection, waves = saved
    a, b = jnp.split(grad, 2, axis=-1)
    turned = [a * waves.sin - b * waves.cos, a * waves.cos + b * waves.sin]
    d_w = jnp.concatenate(turned, axis=-1).reshape(len(q), -1, projection.shape[-1])
    d_q = (d_w @ jnp.swapaxes(projection, -1, -2)).reshape(q.shape)
    return d_q, jnp.swapaxes(q.reshape(len(q), -1, q.shape[-1]), -1, -2) @ d_w, None


_turn.defvjp(lambda *args: (_turn(*args), args), _turn_backward)


@jax.custom_vjp
def _look_up(q, table):
    """Returns einsum("bhqd,hqdk->bhqk") as a batch of products over heads and places."""
    return jnp.transpose(jnp.transpose(q, (1, 2, 0, 3)) @ table, (2, 0, 1, 3))


def _look_up_backward(saved, grad):
    q, table = saved
    grad = jnp.transpose(grad, (1, 2, 0, 3))
    d_q = jnp.transpose(grad @ jnp.swapaxes(table, -1, -2), (2, 0, 1, 3))
    return d_q, jnp.transpose(q, (1, 2, 3, 0)) @ grad


_look_up.defvjp(lambda *args: (_look_up(*args), args), _look_up_backward)

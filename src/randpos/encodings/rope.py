"""Rotary encoding (Su et al., 2021)."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from randpos.encodings.base import (
    Encoding,
    Keys,
    LayerNumber,
    Mask,
    Queries,
    View,
    check_time,
)
from randpos.encodings.sinusoids import sin_cos
from randpos.errors import UserError
from randpos.positions import Places, Positions, int32_positions
from randpos.settings import Shape


class Angles(NamedTuple):
    """Sine and cosine of every token's angles, for queries and for keys."""

    query: tuple[Float[Array, "query pair"], Float[Array, "query pair"]]
    key: tuple[Float[Array, "key pair"], Float[Array, "key pair"]]


def apply_rope(
    x: Float[Array, "*batch time dim"], positions: Places
) -> Float[Array, "*batch time dim"]:
    """Rotates channels i and i + dim/2 by the position times 10000^(-2i/dim).

    Apply it to queries and keys; their products then depend on differences of positions only.

    Args:
        x: Queries or keys.
        positions: Where the tokens stand: one row for all, or an axis for each of `x` but the last.
    """
    index = int32_positions(positions)
    if x.ndim < 2 or index.ndim not in (1, x.ndim - 1):
        raise UserError(
            f"x of shape {x.shape} does not fit positions of shape {index.shape}; pass x with axes "
            "of time and channels, and positions of shape [time], or with one axis less than x."
        )
    check_time(x, index)
    return _rotate(x, *sin_cos(index, x.shape[-1] // 2))


def _rotate(x, sin, cos):
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


class RoPE(Encoding):
    """Rotates queries and keys by angles proportional to their positions."""

    name = "rope"
    description = "Queries and keys rotated by angles proportional to the position."
    reference = "Su et al., 2021"
    label = "RoPE"
    color = "#d55e00"
    marker = "D"
    pytorch = True

    def __init__(self, shape: Shape, *, key: Key[Array, ""]) -> None:
        if shape.head_dim % 2:
            raise UserError(
                f"rope rotates pairs of channels, but a head has {shape.head_dim} "
                f"(dim={shape.dim} / heads={shape.heads}); choose them so that it is even."
            )
        super().__init__(shape, key=key)

    def precompute(self, positions: Positions, mask: Mask) -> Angles:
        """Computes the angles once for all layers."""
        pairs, largest = self.shape.head_dim // 2, positions.largest
        return Angles(
            sin_cos(positions.query, pairs, largest), sin_cos(positions.key, pairs, largest)
        )

    def transform(
        self, q: Queries, k: Keys, view: View, layer: LayerNumber
    ) -> tuple[Queries, Keys]:
        """Rotates both sides."""
        return _rotate(q, *view.precomputed.query), _rotate(k, *view.precomputed.key)

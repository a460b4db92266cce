"""Rotary encoding (Su et al., 2021)."""

import torch
from jaxtyping import Float
from torch import Tensor

from randpos.torch.encodings.base import (
    Encoding,
    Keys,
    Positions,
    Queries,
    QueryPositions,
    check_time,
    int64_positions,
)
from randpos.torch.encodings.sinusoids import sin_cos


def apply_rope(
    x: Float[Tensor, "*batch time dim"], positions: Positions
) -> Float[Tensor, "*batch time dim"]:
    """Rotates channels i and i + dim/2 by the position times 10000^(−2i/dim).

    Args:
        x: Queries or keys; `[batch, head, time, dim]` where positions differ between sequences.
        positions: Where the tokens stand.
    """
    check_time("x", x.shape[-2], positions)
    sin, cos = sin_cos(int64_positions(positions), x.shape[-1] // 2)
    if positions.ndim > 1:  # room for the heads
        sin, cos = sin[:, None], cos[:, None]
    sin, cos = sin.to(x.dtype), cos.to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


class RoPE(Encoding):
    """Rotates queries and keys by angles proportional to their positions."""

    def transform(
        self,
        q: Queries,
        k: Keys,
        positions: Positions,
        query_positions: QueryPositions | None = None,
    ) -> tuple[Queries, Keys]:
        """Rotates both sides."""
        standing = positions if query_positions is None else query_positions
        return apply_rope(q, standing), apply_rope(k, positions)

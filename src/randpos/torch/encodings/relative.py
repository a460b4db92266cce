"""Relative encoding (Dai et al., 2019, Transformer-XL)."""

import torch
from torch import nn

from randpos.torch.encodings.base import (
    Bias,
    Encoding,
    Keys,
    Mask,
    Offsets,
    Positions,
    Queries,
    QueryPositions,
)
from randpos.torch.encodings.sinusoids import sinusoid


class Relative(Encoding):
    """Logits (q + u)·k + (q + v)·(W_r R(δ)), scaled by 1/√d, with R the sinusoid of the offset.

    Args:
        dim: Width of the model.
        heads: Number of heads.
    """

    parameters_per_layer = True

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        weight = nn.init.trunc_normal_(torch.empty(dim, dim), a=-2, b=2) * dim**-0.5
        self.projection = nn.Parameter(weight)
        self.content_bias = nn.Parameter(0.02 * torch.randn(heads, dim // heads))
        self.position_bias = nn.Parameter(0.02 * torch.randn(heads, dim // heads))

    def transform(
        self,
        q: Queries,
        k: Keys,
        positions: Positions,
        query_positions: QueryPositions | None = None,
    ) -> tuple[Queries, Keys]:
        """Adds u to the queries."""
        return q + self.content_bias[:, None, :], k

    def bias(self, q: Queries, offsets: Offsets, mask: Mask | None = None) -> Bias:
        """Returns (q + v)·(W_r R(δ)) / √d."""
        heads, head_dim = self.position_bias.shape
        # Many pairs share an offset: project each different one once, then look it up.
        values, index = offsets.unique(return_inverse=True)
        rows = sinusoid(values, self.projection.shape[0]).to(q.dtype) @ self.projection
        table = rows.reshape(-1, heads, head_dim)[index]
        q = (q + self.position_bias[:, None, :]) * head_dim**-0.5
        pairs = "qkhd" if offsets.ndim == 2 else "bqkhd"
        return torch.einsum(f"bhqd,{pairs}->bhqk", q, table)

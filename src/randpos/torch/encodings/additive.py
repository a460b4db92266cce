"""Encodings that are added to the embeddings: sin/cos and learned."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from randpos.torch.encodings.base import Encoding, Positions
from randpos.torch.encodings.sinusoids import sinusoid


class SinCos(Encoding):
    """Adds sines and cosines of the position (Vaswani et al., 2017)."""

    additive = True

    def embed(
        self, x: Float[Tensor, "batch time dim"], positions: Positions
    ) -> Float[Tensor, "batch time dim"]:
        """Adds the sinusoids of the positions."""
        return x + sinusoid(positions, x.shape[-1]).to(x.dtype)


class Learned(Encoding):
    """Adds a learned row per position (Gehring et al., 2017).

    Args:
        dim: Width of the embeddings.
        positions: Number of rows: L, the largest position.
    """

    additive = True

    def __init__(self, dim: int, positions: int = 2048) -> None:
        super().__init__()
        self.rows = nn.Parameter(nn.init.trunc_normal_(torch.empty(positions, dim), a=-2, b=2))

    def embed(
        self, x: Float[Tensor, "batch time dim"], positions: Positions
    ) -> Float[Tensor, "batch time dim"]:
        """Adds the row of each position; positions count from 1."""
        return x + self.rows[positions - 1]

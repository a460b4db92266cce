"""Encodings that are added to the embeddings: sin/cos and learned."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import embedding

from randpos.errors import UserError
from randpos.torch.encodings.base import Encoding, Positions, check_time, int64_positions
from randpos.torch.encodings.sinusoids import sinusoid


class SinCos(Encoding):
    """Adds sines and cosines of the position (Vaswani et al., 2017)."""

    additive = True

    def embed(
        self, x: Float[Tensor, "batch time dim"], positions: Positions
    ) -> Float[Tensor, "batch time dim"]:
        """Adds the sinusoids of the positions."""
        check_time("x", x.shape[-2], positions)
        return x + sinusoid(int64_positions(positions), x.shape[-1]).to(x.dtype)


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
        check_time("x", x.shape[-2], positions)
        positions = int64_positions(positions)
        if not torch.compiler.is_compiling() and positions.numel():
            smallest, largest = int(positions.min()), int(positions.max())
            if smallest < 1 or largest > len(self.rows):
                raise UserError(
                    f"Learned has rows for positions 1 to {len(self.rows)}, but these run from "
                    f"{smallest} to {largest}; count from 1, and build it with more positions."
                )
        # Unlike an index, `embedding` refuses row −1 also in compiled code.
        return x + embedding(positions - 1, self.rows)

"""The interface of an encoding in PyTorch; the same four places as in `randpos.encodings.base`.

One module serves one attention layer; those without parameters of their own can serve all of them.
Positions are integers from 1 on, of shape `[time]` or, with a draw per sequence, `[batch, time]`.
"""

from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

Positions = Int[Tensor, "*rows time"]
Offsets = Int[Tensor, "*rows query key"]
Heads = Float[Tensor, "batch head time dim"]
Bias = Float[Tensor, "... head query key"]
Mask = Bool[Tensor, "#batch #head #query key"]

NEVER = -1e30
"""The logit of a forbidden key; finite, so that a row of forbidden keys is not NaN."""


def offsets_of(positions: Positions) -> Offsets:
    """Returns how far each query stands to the right of each key.

    >>> offsets_of(torch.tensor([3, 7])).tolist()
    [[0, -4], [4, 0]]
    """
    return positions[..., :, None] - positions[..., None, :]


class Encoding(nn.Module):
    """No positions at all, and the base of all encodings."""

    additive: ClassVar[bool] = False
    """Whether `embed` adds to the embeddings; dropout then follows it."""
    layerwise: ClassVar[bool] = False
    """Whether every layer needs a module of its own, because it has parameters of its own."""

    def embed(
        self, x: Float[Tensor, "batch time dim"], positions: Positions
    ) -> Float[Tensor, "batch time dim"]:
        """Adds positions to the token embeddings."""
        return x

    def rotate(self, q: Heads, k: Heads, positions: Positions) -> tuple[Heads, Heads]:
        """Lets positions enter queries and keys."""
        return q, k

    def bias(self, q: Heads, offsets: Offsets, mask: Mask | None = None) -> Bias | None:
        """Returns what is added to the scaled logits: an `attn_mask` for PyTorch's attention."""
        return None

    def forward(
        self,
        q: Heads,
        k: Heads,
        v: Heads,
        positions: Positions,
        *,
        mask: Mask | None = None,
        offsets: Offsets | None = None,
        x: Float[Tensor, "batch time model"] | None = None,
    ) -> Heads:
        """Attends by `scaled_dot_product_attention`, with positions where this encoding has them.

        Args:
            q: Queries.
            k: Keys.
            v: Values.
            positions: Where the tokens stand.
            mask: Which keys each query may attend to; by default all.
            offsets: Distances between tokens, where they are not differences of the positions.
            x: What queries and keys were made of; only geometric attention asks for it.

        Returns:
            The attended values.
        """
        bias = self.bias(q, offsets_of(positions) if offsets is None else offsets, mask)
        q, k = self.rotate(q, k, positions)
        if bias is None:
            return scaled_dot_product_attention(q, k, v, attn_mask=mask)
        if mask is not None:
            bias = torch.where(mask, bias, NEVER)
        return scaled_dot_product_attention(q, k, v, attn_mask=bias)

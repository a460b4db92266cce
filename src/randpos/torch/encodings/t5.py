"""T5's bias per bucket of distances (Raffel et al., 2020)."""

import math

import torch
from torch import nn

from randpos.torch.encodings.base import Bias, Encoding, Mask, Offsets, Queries

BUCKETS = 32
FARTHEST = 128


def bucket(offsets: Offsets, one_sided: bool = False) -> Offsets:
    """Sorts offsets into 16 buckets for either side: 8 exact distances, then logarithmic ones.

    A decoder (`one_sided`) has 32 buckets for the keys to the left, 16 of them exact.

    >>> bucket(torch.tensor([[0, 1, 7, 8, 12, 16, 90, 91, 128, 5000, -1, -8]])).tolist()
    [[0, 1, 7, 8, 9, 10, 14, 15, 15, 15, 17, 24]]
    """
    exact = BUCKETS // 2 if one_sided else BUCKETS // 4
    ratio = FARTHEST / exact
    # Integer bounds, so that no rounding can move a distance across one.
    wide = [math.ceil(exact * ratio ** (i / exact) - 1e-9) for i in range(1, exact)]
    bounds = torch.tensor([*range(1, exact + 1), *wide], device=offsets.device)
    side = 0 if one_sided else (offsets < 0) * (BUCKETS // 2)
    return side + torch.searchsorted(bounds, offsets.abs().contiguous(), right=True)


class T5(Encoding):
    """Adds a learned number per head and bucket of distances; one module serves all layers.

    Args:
        heads: Number of heads.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.biases = nn.Parameter(0.02 * torch.randn(BUCKETS, heads))

    def bias(self, q: Queries, offsets: Offsets, mask: Mask | None = None) -> Bias:
        """Looks the biases up."""
        return self.biases[bucket(offsets, self.one_sided)].movedim(-1, -3)

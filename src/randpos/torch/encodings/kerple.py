"""KERPLE's logarithmic kernel (Chi et al., 2022)."""

import math

import torch
from torch import nn
from torch.nn.functional import softplus

from randpos.torch.encodings.alibi import asymmetric_distance
from randpos.torch.encodings.base import Bias, Encoding, Mask, Offsets, Queries


class KERPLE(Encoding):
    """Adds −r1 log(1 + r2 · distance), with positive r1 and r2 learned per head.

    Args:
        heads: Number of heads.
    """

    parameters_per_layer = True

    def __init__(self, heads: int) -> None:
        super().__init__()
        start = math.log(math.expm1(1.0))  # softplus of it is 1
        self.strength = nn.Parameter(torch.full((heads,), start))
        self.rate = nn.Parameter(torch.full((heads,), start))

    def bias(self, q: Queries, offsets: Offsets, mask: Mask | None = None) -> Bias:
        """Returns the penalties."""
        strength = softplus(self.strength)[:, None, None]
        rate = softplus(self.rate)[:, None, None]
        distance = asymmetric_distance(offsets, self.one_sided)
        return -strength * torch.log1p(rate * distance[..., None, :, :])

"""FIRE, functional interpolation of distances (Li et al., 2024)."""

import torch
from torch import nn

from randpos.torch.encodings.base import Bias, Encoding, Mask, Offsets, Queries

WIDTH = 32
RATE = 0.1
THRESHOLD = 512.0


class FIRE(Encoding):
    """Adds f(ψ(|δ|) / ψ(max(threshold, range))), with f a small MLP and ψ(x) = log(1 + c x).

    `range` is the query's largest distance to a key that it may attend to. The argument carries the
    sign of the offset: keys to the left are positive.

    Args:
        heads: Number of heads.
    """

    parameters_per_layer = True

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.rate = nn.Parameter(torch.ones(()))
        self.threshold = nn.Parameter(torch.ones(()))
        self.inner = nn.Parameter(nn.init.trunc_normal_(torch.empty(WIDTH), a=-2, b=2))
        self.inner_bias = nn.Parameter(torch.zeros(WIDTH))
        outer = nn.init.trunc_normal_(torch.empty(WIDTH, heads), a=-2, b=2)
        self.outer = nn.Parameter(outer * WIDTH**-0.5)
        self.outer_bias = nn.Parameter(torch.zeros(heads))

    def bias(self, q: Queries, offsets: Offsets, mask: Mask | None = None) -> Bias:
        """Applies the MLP to the normalised distances."""
        distances = offsets.abs()
        seen = distances if mask is None else distances.where(mask.any(dim=1), 0)
        span = seen.amax(dim=-1, keepdim=True)
        rate = RATE * self.rate.abs()
        threshold = THRESHOLD * self.threshold.abs()
        scale = torch.log1p(rate * torch.maximum(threshold, span)) + 1e-6
        z = offsets.sign() * torch.log1p(rate * distances) / scale
        hidden = torch.relu(z[..., None] * self.inner + self.inner_bias)
        return (hidden @ self.outer + self.outer_bias).movedim(-1, -3)

"""Geometric attention with directional encoding (Csordás et al., 2022, Neural Data Router)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, pad

from randpos.errors import UserError
from randpos.torch.encodings.base import (
    NEVER,
    Encoding,
    Keys,
    Mask,
    Offsets,
    Queries,
    Scale,
    Weights,
)


class Geometric(Encoding):
    """Each query matches the nearest key that fits, testing keys outwards from its own place.

    It has no softmax over keys, so it does not go through `scaled_dot_product_attention`.

    Args:
        dim: Width of the model.
        heads: Number of heads.
        normalise: Scale each row to sum 1.
    """

    parameters_per_layer = True

    def __init__(self, dim: int, heads: int, normalise: bool = True) -> None:
        super().__init__()
        self.normalise = normalise
        self.query_bias = nn.Parameter(torch.zeros(heads, dim // heads))
        direction = nn.init.trunc_normal_(torch.empty(dim, 2 * heads), a=-2, b=2)
        self.direction = nn.Parameter(direction * dim**-0.5)
        self.direction_bias = nn.Parameter(torch.zeros(2 * heads))
        self.content_scale = nn.Parameter(torch.tensor((dim // heads) ** -0.5))
        self.direction_scale = nn.Parameter(torch.ones(()))
        self.threshold = nn.Parameter(torch.zeros(()))

    def weights(
        self,
        q: Queries,
        k: Keys,
        offsets: Offsets,
        mask: Mask | None,
        x: Float[Tensor, "batch query model"] | None,
        scale: Scale | None,
    ) -> Weights:
        """Returns the probability that each key is the first to match."""
        if scale is not None:
            raise UserError("Geometric attention has no logits of a softmax: pass no scale.")
        if x is None:
            raise UserError("Geometric attention reads directions from its input: pass x.")
        offsets = offsets[None] if offsets.ndim == 2 else offsets
        allowed = (offsets != 0)[:, None]
        allowed = allowed if mask is None else allowed & mask
        z = self._match(x, q, k, offsets)
        hit = logsigmoid(z).where(allowed, NEVER) + self._reach(
            logsigmoid(-z).where(allowed, 0.0), offsets
        )
        weights = hit.softmax(dim=-1) if self.normalise else hit.exp()
        return weights.where(allowed, 0.0)

    def _match(self, x: Tensor, q: Tensor, k: Tensor, offsets: Tensor) -> Tensor:
        """Returns the log-odds that each key matches its query."""
        content = (q + self.query_bias[:, None, :]) @ k.mT
        sides = (x @ self.direction + self.direction_bias).mT[..., None]
        left, right = sides.chunk(2, dim=1)
        side = torch.where((offsets > 0)[:, None], left, right)
        return self.content_scale * content + self.direction_scale * side + self.threshold

    def _reach(self, log_miss: Tensor, offsets: Tensor) -> Tensor:
        """Returns for each key the sum over the keys tested before it: near to far, right first."""
        order = (2 * offsets.abs() + (offsets > 0)).argsort(dim=-1, stable=True)[:, None]
        rank = order.argsort(dim=-1)
        in_order = log_miss.gather(-1, order.expand_as(log_miss))
        before = pad(in_order.cumsum(dim=-1)[..., :-1], (1, 0))
        return before.gather(-1, rank.expand_as(log_miss))

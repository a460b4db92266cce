"""Attention with linear biases (Press et al., 2022), for an encoder."""

import torch
from jaxtyping import Float
from torch import Tensor

from randpos.torch.encodings.base import Bias, Encoding, Heads, Mask, Offsets


def lopsided(offsets: Offsets) -> Float[Tensor, "*rows query key"]:
    """Returns distances in which keys to the left are half a step nearer.

    Without the half step a bias could not tell left from right.
    """
    return offsets.abs().float() - 0.5 * (offsets > 0)


class ALiBi(Encoding):
    """Subtracts a multiple of the distance from the scaled logits; nothing is learned.

    Args:
        heads: Number of heads; head i has the slope 2^(−8i/heads).
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)
        self.register_buffer("slopes", slopes, persistent=False)

    def bias(self, q: Heads, offsets: Offsets, mask: Mask | None = None) -> Bias:
        """Returns the penalties."""
        slopes = self.get_buffer("slopes")
        return -slopes[:, None, None] * lopsided(offsets)[..., None, :, :]

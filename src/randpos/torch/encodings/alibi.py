"""Attention with linear biases (Press et al., 2022), for encoders and decoders."""

import torch
from jaxtyping import Float
from torch import Tensor

from randpos.torch.encodings.base import Bias, Encoding, Mask, Offsets, Queries


def slopes(heads: int) -> list[float]:
    """Returns the slope of each head, as the authors of ALiBi choose them.

    For a power of two they are 2^(−8/heads), 2^(−16/heads), …, 2^−8. Other numbers take the slopes
    of the next smaller power of two, then every second slope of the next larger one.

    >>> slopes(4)
    [0.25, 0.0625, 0.015625, 0.00390625]
    >>> slopes(3)
    [0.0625, 0.00390625, 0.25]
    """
    power = 1 << (heads.bit_length() - 1)
    first = [2.0 ** (-8.0 * i / power) for i in range(1, power + 1)]
    if power == heads:
        return first
    return first + slopes(2 * power)[::2][: heads - power]


def asymmetric_distance(
    offsets: Offsets, one_sided: bool = False
) -> Float[Tensor, "*rows query key"]:
    """Returns |offset|, minus one half for keys to the left so that the two sides differ.

    A decoder has only keys to the left (`one_sided`) and needs no half step.
    """
    if one_sided:
        return offsets.abs().float()
    return offsets.abs().float() - 0.5 * (offsets > 0)


class ALiBi(Encoding):
    """Subtracts a multiple of the distance from the scaled logits; it has no parameters.

    Args:
        heads: Number of heads; see `slopes`.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", torch.tensor(slopes(heads)), persistent=False)

    def bias(self, q: Queries, offsets: Offsets, mask: Mask | None = None) -> Bias:
        """Returns the penalties."""
        slopes = self.get_buffer("slopes")
        distance = asymmetric_distance(offsets, self.one_sided)
        return -slopes[:, None, None] * distance[..., None, :, :]

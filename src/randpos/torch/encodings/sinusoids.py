"""Sinusoids of integer positions (equations 1 and 2 of the paper), exact to float32."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def sin_cos(
    positions: Int[Tensor, "*shape"], count: int
) -> tuple[Float[Tensor, "*shape {count}"], Float[Tensor, "*shape {count}"]]:
    """Returns sine and cosine of each position at the frequencies 10000^(−i/count).

    The angles are formed in float64: in float32 that of position 8192 is off by 5e-4.

    Args:
        positions: Integers of either sign.
        count: Number of frequencies.
    """
    rates = 10000.0 ** (-torch.arange(count, dtype=torch.float64, device=positions.device) / count)
    angles = positions[..., None].double() * rates
    return angles.sin().float(), angles.cos().float()


def sinusoid(positions: Int[Tensor, "*shape"], dim: int) -> Float[Tensor, "*shape {dim}"]:
    """Returns the encoding of equations 1 and 2, all sines before all cosines.

    >>> sinusoid(torch.tensor([0]), 4).tolist()
    [[0.0, 0.0, 1.0, 1.0]]
    """
    return torch.cat(sin_cos(positions, dim // 2), dim=-1)

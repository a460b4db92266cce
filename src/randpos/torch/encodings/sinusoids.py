"""Sinusoids of integer positions (equations 1 and 2 of the paper), exact to float32."""

import functools
import math
from decimal import Decimal, localcontext

import torch
from jaxtyping import Float, Int
from torch import Tensor

DIGIT = 16  # bits of the low digit of a position
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628621")


def sin_cos(
    positions: Int[Tensor, "*shape"], count: int
) -> tuple[Float[Tensor, "*shape {count}"], Float[Tensor, "*shape {count}"]]:
    """Returns sine and cosine of each position at the frequencies 10000^(−i/count).

    A float64 frequency is too coarse for large positions: at 2³¹ − 1 the angle is off by 2e-7.
    The angle is therefore the sum of two digits of the position, each multiplied by an angle that
    was reduced to one turn in decimal arithmetic.

    Args:
        positions: Integers of either sign, up to 2³¹ in size.
        count: Number of frequencies.
    """
    low, high = torch.tensor(_angles(count), dtype=torch.float64, device=positions.device)
    positions = positions.long()[..., None]
    angles = (positions & (2**DIGIT - 1)) * low + (positions >> DIGIT) * high
    return angles.sin().float(), angles.cos().float()


@functools.cache
def _angles(count: int) -> tuple[list[float], list[float]]:
    """Returns the angles of positions 1 and 2^DIGIT at each frequency, in [0, 2π)."""
    with localcontext() as context:
        context.prec = 60
        turns = [Decimal(10000) ** (-Decimal(i) / count) / (2 * _PI) for i in range(count)]
        low = [float(turn * 2 * _PI) for turn in turns]
        return low, [math.tau * float(turn * 2**DIGIT % 1) for turn in turns]


def sinusoid(positions: Int[Tensor, "*shape"], dim: int) -> Float[Tensor, "*shape {dim}"]:
    """Returns the encoding of equations 1 and 2, all sines before all cosines.

    >>> sinusoid(torch.tensor([0]), 4).tolist()
    [[0.0, 0.0, 1.0, 1.0]]
    """
    return torch.cat(sin_cos(positions, dim // 2), dim=-1)

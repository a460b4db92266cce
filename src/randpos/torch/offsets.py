"""Offsets that are drawn as distances instead of positions (two readings of the paper).

`randpos.positions.Randomized` explains them: one ascending draw of T − 1 distances from {1..L−1}
serves all pairs of tokens, those t apart being r_t apart.
"""

import torch
from jaxtyping import Int, Integer
from torch import Tensor


def offsets_from_distances(
    distances: Integer[Tensor, " steps"], *, released_maximum: int | None = None
) -> Int[Tensor, "time time"]:
    """Returns the offsets of T tokens from T − 1 drawn distances.

    Args:
        distances: `sample_positions(generator, T - 1, maximum=L - 1)`.
        released_maximum: L, to get the offsets as the released code gathers them: keys to the left
            at L − r, all others at L − 1.

    >>> offsets_from_distances(torch.tensor([2, 7])).tolist()
    [[0, -2, -7], [2, 0, -2], [7, 2, 0]]
    """
    distances = distances.long()
    place = torch.arange(len(distances) + 1, device=distances.device)
    steps = place[:, None] - place[None, :]
    apart = torch.cat([distances.new_zeros(1), distances])[steps.abs()]
    if released_maximum is None:
        return steps.sign() * apart
    return torch.where(steps > 0, released_maximum - apart, released_maximum - 1)

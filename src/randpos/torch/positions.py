"""Randomized positions (section 3 of the paper) for PyTorch.

The distribution is that of `randpos.positions`.
"""

from typing import SupportsIndex

import torch
from jaxtyping import Int64
from torch import Tensor

from randpos.numpy import check_chunks, check_fits


def sample_positions(
    generator: torch.Generator | int,
    length: SupportsIndex,
    *,
    maximum: SupportsIndex = 2048,
    batch: int | None = None,
    sort: bool = True,
    device: torch.device | str | None = None,
) -> Int64[Tensor, "*batch length"]:
    """Draws `length` distinct positions uniformly from {1..maximum}.

    Args:
        generator: A generator, or a seed for one. The draw happens on the generator's own device,
            so that a seed means the same positions wherever the model lives.
        length: T, the number of tokens (input plus output).
        maximum: L, the largest position.
        batch: Number of independent draws; by default one draw, without a batch axis.
        sort: Ascending order (the method), or a random order (the paper's ablation).
        device: Where the result goes; by default it stays where it was drawn.

    Returns:
        Positions of shape `[length]`, or `[batch, length]` with one draw per row.

    >>> sample_positions(0, 4, maximum=4)
    tensor([1, 2, 3, 4])
    >>> sample_positions(torch.Generator().manual_seed(1), 5, maximum=100, batch=3).shape
    torch.Size([3, 5])
    """
    length, maximum = check_fits(length, maximum)
    generator = as_generator(generator)
    drawn = torch.empty(1 if batch is None else batch, length, dtype=torch.int64)
    drawn = drawn.to(generator.device)
    for row in drawn:
        row.copy_(_distinct(generator, length, maximum))
    drawn += 1
    if sort:
        drawn = drawn.sort(dim=-1).values
    return (drawn[0] if batch is None else drawn).to(device)


def _distinct(generator: torch.Generator, length: int, maximum: int) -> Int64[Tensor, " {length}"]:
    """Draws distinct integers from {0..maximum−1} in random order, in O(length log length).

    The first distinct values of a stream of independent uniform ones are a uniform sample without
    replacement. If more than half of all values are needed, a permutation takes less.
    """
    where = generator.device
    if 2 * length > maximum:
        return torch.randperm(maximum, generator=generator, device=where)[:length]
    stream = torch.empty(0, dtype=torch.int64, device=where)
    while len(stream) < length:
        more = torch.randint(maximum, (length + 8,), generator=generator, device=where)
        stream = torch.cat([stream, more])
        ordered, places = stream.sort(stable=True)
        new = torch.ones_like(ordered, dtype=torch.bool)
        new[1:] = ordered[1:] != ordered[:-1]
        stream = stream[places[new].sort().values]
    return stream[:length]


def sample_skipwise(
    generator: torch.Generator | int,
    length: SupportsIndex,
    *,
    maximum: SupportsIndex = 2048,
    chunks: int = 2,
    batch: int | None = None,
    device: torch.device | str | None = None,
) -> Int64[Tensor, "*batch length"]:
    """Draws skip-wise positions: contiguous chunks, each moved right by a random skip (PoSE).

    The distribution is that of `randpos.numpy.sample_skipwise`: uniform cuts, then for chunk i
    a skip u_i uniform on {u_(i-1), ..., maximum − length}, with u_0 = 0.

    Args:
        generator: A generator, or a seed for one.
        length: T, the number of tokens.
        maximum: L, the largest position (the target context window).
        chunks: N, the number of contiguous pieces.
        batch: Number of independent draws; by default one draw, without a batch axis.
        device: Where the result goes; by default it stays where it was drawn.

    Returns:
        Ascending positions of shape `[length]`, or `[batch, length]` with one draw per row.

    >>> sample_skipwise(0, 6, maximum=6)
    tensor([1, 2, 3, 4, 5, 6])
    """
    length, maximum = check_fits(length, maximum)
    check_chunks(chunks)
    generator = as_generator(generator)
    where = generator.device
    out = torch.arange(1, length + 1, device=where).repeat(1 if batch is None else batch, 1)
    for row in out:
        places = torch.randperm(max(length - 1, 0), generator=generator, device=where)
        cuts = (places[: chunks - 1] + 1).sort().values.tolist()
        skip = 0
        for cut in cuts:
            following = torch.randint(
                skip, maximum - length + 1, (), generator=generator, device=where
            )
            row[cut:] += following - skip
            skip = int(following)
    return (out[0] if batch is None else out).to(device)


def as_generator(generator: torch.Generator | int) -> torch.Generator:
    """Returns the generator, or a new one on the CPU for a seed."""
    if isinstance(generator, torch.Generator):
        return generator
    return torch.Generator().manual_seed(generator)

"""Randomized positions (section 3 of the paper) for NumPy: data pipelines and other frameworks.

The distribution is that of `randpos.positions` (JAX) and `randpos.torch`.
"""

import operator
from typing import SupportsIndex

import numpy as np
from jaxtyping import Int64

from randpos.errors import UserError


def sample_positions(
    rng: np.random.Generator | int,
    length: SupportsIndex,
    *,
    maximum: SupportsIndex = 2048,
    batch: int | None = None,
    sort: bool = True,
) -> Int64[np.ndarray, "*batch length"]:
    """Draws `length` distinct positions uniformly from {1..maximum}.

    Args:
        rng: A generator, or a seed for one.
        length: T, the number of tokens (input plus output).
        maximum: L, the largest position.
        batch: Number of independent draws; by default one draw, without a batch axis.
        sort: Ascending order (the method), or a random order (the paper's ablation).

    Returns:
        Positions of shape `[length]`, or `[batch, length]` with one draw per row.

    >>> sample_positions(0, 4, maximum=4)
    array([1, 2, 3, 4])
    >>> sample_positions(0, 5, maximum=100, batch=3).shape
    (3, 5)
    """
    length, maximum = check_fits(length, maximum)
    rng = np.random.default_rng(rng)
    # `choice` is linear in `length` for any `maximum` (Floyd's algorithm); a sorted draw needs no
    # random order.
    rows = [
        rng.choice(maximum, size=length, replace=False, shuffle=not sort).astype(np.int64) + 1
        for _ in range(1 if batch is None else batch)
    ]
    if sort:
        rows = [np.sort(row) for row in rows]
    return rows[0] if batch is None else np.stack(rows) if rows else np.zeros((0, length), np.int64)


def sample_skipwise(
    rng: np.random.Generator | int,
    length: SupportsIndex,
    *,
    maximum: SupportsIndex = 2048,
    chunks: int = 2,
    batch: int | None = None,
) -> Int64[np.ndarray, "*batch length"]:
    """Draws skip-wise positions: contiguous chunks, each moved right by a random skip (PoSE).

    The sequence is cut into `chunks` pieces at places drawn uniformly without replacement. Chunk i
    is moved by u_i, where u_0 = 0 and u_i is uniform on {u_(i-1), ..., maximum − length} (equation
    4 of Zhu et al., 2024, arXiv:2309.10400, which leaves the law of the chunk lengths open). The
    first position is always 1. A sequence shorter than `chunks` has one token per chunk.

    Args:
        rng: A generator, or a seed for one.
        length: T, the number of tokens.
        maximum: L, the largest position (the target context window).
        chunks: N, the number of contiguous pieces.
        batch: Number of independent draws; by default one draw, without a batch axis.

    Returns:
        Ascending positions of shape `[length]`, or `[batch, length]` with one draw per row.

    >>> sample_skipwise(0, 6, maximum=6)
    array([1, 2, 3, 4, 5, 6])
    """
    length, maximum = check_fits(length, maximum)
    check_chunks(chunks)
    rng = np.random.default_rng(rng)
    room = maximum - length
    out = np.tile(np.arange(1, length + 1, dtype=np.int64), (1 if batch is None else batch, 1))
    pieces = min(chunks, length)
    for row in out:
        cuts = np.sort(
            rng.choice(np.arange(1, max(length, 1)), size=max(pieces - 1, 0), replace=False)
        )
        skip = 0
        for cut in cuts:
            # Skips only grow: the increment, added to the whole tail, moves all later chunks along.
            following = int(rng.integers(skip, room, endpoint=True))
            row[cut:] += following - skip
            skip = following
    return out[0] if batch is None else out


def check_fits(length: SupportsIndex, maximum: SupportsIndex) -> tuple[int, int]:
    """Returns both as Python integers: those of NumPy, such as `np.uint8(255)`, wrap around.

    Raises:
        UserError: If a sequence has more tokens than there are positions.

    >>> check_fits(20, 16)
    Traceback (most recent call last):
    randpos.errors.UserError: L=16 is too small for a sequence of length 20: it needs 20 distinct positions; pass maximum=20 or more.
    """  # noqa: E501 (the message is one line)
    length, maximum = operator.index(length), operator.index(maximum)
    if length < 0:
        raise UserError(f"length={length} is negative; pass the number of tokens of the sequence.")
    if length > maximum:
        raise UserError(
            f"L={maximum} is too small for a sequence of length {length}: "
            f"it needs {length} distinct positions; pass maximum={length} or more."
        )
    return length, maximum


def check_chunks(chunks: int) -> None:
    """Raises `UserError` if `chunks < 1`."""
    if chunks < 1:
        raise UserError(f"chunks={chunks} is too small; pass 1 (ordinary positions) or more.")

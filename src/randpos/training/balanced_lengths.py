"""Lengths of a strided test whose residues weigh about the same.

The answers to odd and even lengths may differ in difficulty, and so may those of other residues.
Where lengths between two tested ones are interpolated, the tested residues decide the mean. One
length in each window of `stride` is chosen so that the residues modulo 2, 3, 4 and 5 have similar
weights over 1..N, over its upper half (which decides whether a task is learnt) and over N+1..M.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from jaxtyping import Float, Int

MODULI = {2: 4.0, 3: 1.0, 4: 1.0, 5: 1.0}
"""What the residues are taken of, and how much their balance counts."""
PERIOD = 60
"""Residues modulo all of them repeat after so many lengths: no more are tried in a window."""
MANY = 40
"""With more windows, `spread` alone chooses the lengths: over many, residues balance anyway."""

Range = tuple[int, int]
"""The first and the last length, both included."""


@cache
def balanced_lengths(seen: int, longest: int, every: int) -> tuple[int, ...]:
    """Returns 1, N, N+1, M and another length in each window of `every`.

    Args:
        seen: N, the longest length of training.
        longest: M, the longest length of the test, at least N.
        every: The stride.

    >>> balanced_lengths(40, 200, 20)
    (1, 18, 29, 40, 41, 54, 64, 90, 113, 127, 147, 176, 193, 200)
    """
    if every == 1:
        return tuple(range(1, longest + 1))
    windows = range(1, -(-longest // every) + 1)
    ends = {k: (every * (k - 1) + 1, min(every * k, longest)) for k in windows}
    inner = {k: (first, min(last, seen)) for k, (first, last) in ends.items() if first <= seen}
    outer = {k: ends[k] for k in windows if k not in inner}
    found = _choose({1, seen}, inner, every, [(1, seen), (-(-seen // 2), seen)])
    if longest > seen:
        found |= _choose({seen + 1, longest}, outer, every, [(seen + 1, longest)])
    return tuple(sorted(found))


def spread(window: int, every: int) -> int:
    """Returns a length in a window, counted from 1, of a row of windows.

    The place in the window moves on by the golden ratio, so that over many windows all residues
    occur about equally often.
    """
    # Multiples of the golden ratio, here two Fibonacci numbers, are spread evenly modulo 1.
    return every * window - 10946 * window % 17711 * every // 17711


def _choose(
    always: set[int], windows: dict[int, Range], every: int, ranges: Sequence[Range]
) -> set[int]:
    """Returns the lengths that are always tested, and another one of each window.

    Changes the length of one window after the other to the best one, until nothing improves. Fewer
    windows are searched from more beginnings.
    """
    chosen = [min(spread(k, every), last) for k, (_, last) in windows.items()]
    if not windows or len(windows) > MANY:
        return always.union(chosen)
    options = [_options(window, always) for window in windows.values()]
    fixed, found, least = sorted(always), chosen, np.inf
    for begin in range(0, MANY, len(windows)):
        starts = zip((begin + spread(k, every) for k in windows), options, strict=True)
        chosen = [int(lengths[start % len(lengths)]) for start, lengths in starts]
        cost, before = np.inf, None
        while chosen != before:
            before = list(chosen)
            for place, lengths in enumerate(options):
                rest = [*fixed, *chosen[:place], *chosen[place + 1 :]]
                tried = np.array([[*rest, length] for length in lengths])
                costs = _imbalance(np.sort(tried), ranges)
                chosen[place], cost = int(lengths[costs.argmin()]), costs.min()
        if cost < least:
            found, least = chosen, cost
    return always.union(found)


def _options(window: Range, always: set[int]) -> Int[np.ndarray, " length"]:
    """Returns the lengths of a window that may be chosen: not those that are tested anyway."""
    first, last = window
    cut = max(0, last - first + 1 - PERIOD) // 2
    lengths = [n for n in range(first + cut, last - cut + 1) if n not in always]
    return np.array(lengths or [last])


def _imbalance(
    tested: Int[np.ndarray, "choice length"], ranges: Sequence[Range]
) -> Float[np.ndarray, " choice"]:
    """Returns how unequally the residues weigh over all ranges, for several choices of lengths."""
    total = np.zeros(len(tested))
    for bounds in ranges:
        weights = interpolation_weights(tested, *bounds)
        for modulus, importance in MODULI.items():
            for residue in range(modulus):
                share = np.where(tested % modulus == residue, weights, 0).sum(axis=1)
                total += importance * (share - 1 / modulus) ** 2
    return total.round(9)  # so that rounding does not decide between equal ones


def interpolation_weights(
    tested: Int[np.ndarray, "choice length"], first: int, last: int
) -> Float[np.ndarray, "choice length"]:
    """Returns the share of each tested length in the mean over a range; they add up to 1.

    Lengths between two tested ones are interpolated, as in `mean_accuracy.py`.

    Args:
        tested: Lengths in ascending order, from `first` or below to `last` or above.
        first: The first length of the range.
        last: Its last length.

    >>> interpolation_weights(np.array([[1, 3]]), 1, 3)
    array([[0.5, 0.5]])
    """
    before, after = tested[:, :-1], tested[:, 1:]
    # The lengths n of the range in (before, after]: `count` of them, whose sum is `places`.
    low, high = np.maximum(before + 1, first), np.minimum(after, last)
    count = np.maximum(high - low + 1, 0)
    places = (low + high) * count / 2
    gap = np.maximum(after - before, 1)  # 0 where a length stands twice
    weights = np.zeros(tested.shape)
    weights[:, 1:] += (places - before * count) / gap
    weights[:, :-1] += (after * count - places) / gap
    weights[:, 0] += (first <= tested[:, 0]) & (tested[:, 0] <= last)
    return weights / (last - first + 1)

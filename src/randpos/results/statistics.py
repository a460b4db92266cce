"""Confidence intervals: Student's t for means over seeds, Welch's for published means and sds.

All seeds are tested on the same examples and draws of positions. The error of the test is common to
them, so that the spread over seeds does not show it; it is added to the interval.
"""

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

LEVEL = 0.95
FEWEST = 3
"""Seeds below which neither an interval nor a sign is given: with two the t interval is 13 times
as wide as the standard error, and says nothing."""


class Interval(NamedTuple):
    """A 95 % confidence interval of a mean or of a difference."""

    low: float
    high: float

    @property
    def sign(self) -> int:
        """1 or -1 if the interval lies on one side of zero, else 0."""
        return (self.low > 0) - (self.high < 0)

    def scaled(self, factor: float) -> "Interval":
        """Returns the interval in another unit."""
        return Interval(factor * self.low, factor * self.high)


class Sample(NamedTuple):
    """A mean over seeds as it is published."""

    mean: float
    sd: float
    """The standard deviation of a single seed, not of the mean."""
    seeds: int


def mean_interval(values: Sequence[float], shared: float | None = None) -> Interval | None:
    """Returns the interval of a mean over seeds; None for fewer than three values.

    Its half width is √((t·sd/√n)² + (z·e)²): t is Student's quantile, z the normal one and e the
    error that all values share. Without e it is Student's t interval. Of differences paired by seed
    it is the paired interval.

    Args:
        values: A number of each seed.
        shared: The standard error of the test, from `shared_error`; None if it is not known.
    """
    if len(values) < FEWEST:
        return None
    sample = np.asarray(values, np.float64)
    error = float(sample.std(ddof=1)) / math.sqrt(len(values))
    seeds = t_quantile((1 + LEVEL) / 2, len(values) - 1) * error
    tests = NormalDist().inv_cdf((1 + LEVEL) / 2) * (shared or 0.0)
    centre, half = float(sample.mean()), math.hypot(seeds, tests)
    return Interval(centre - half, centre + half)


def shared_error(*sides: Sequence[float | None]) -> float | None:
    """Returns the standard error of the test of a mean over seeds, or of a difference of means.

    Args:
        sides: For each mean, the standard errors of its runs; they enter as the root mean square.

    Returns:
        The error; None if that of a run was not measured.

    >>> shared_error([3.0, 3.0], [4.0, 4.0])
    5.0
    """
    squares = []
    for side in sides:
        known = [error**2 for error in side if error is not None]
        if not known or len(known) < len(side):
            return None
        squares.append(sum(known) / len(known))
    return math.sqrt(sum(squares))


def welch_interval(left: Sample, right: Sample) -> Interval | None:
    """Returns Welch's t interval of left − right; None for fewer than three seeds on a side."""
    if min(left.seeds, right.seeds) < FEWEST:
        return None
    variances = [side.sd**2 / side.seeds for side in (left, right)]
    total = sum(variances)
    difference = left.mean - right.mean
    if total == 0:
        return Interval(difference, difference)
    parts = (v**2 / (side.seeds - 1) for v, side in zip(variances, (left, right), strict=True))
    return _around(difference, math.sqrt(total), total**2 / sum(parts))


def _around(centre: float, error: float, freedom: float) -> Interval:
    half = t_quantile((1 + LEVEL) / 2, freedom) * error
    return Interval(centre - half, centre + half)


@cache
def t_quantile(probability: float, freedom: float) -> float:
    """Returns the quantile of Student's t distribution, by bisection.

    Args:
        probability: Between 0 and 1, both excluded.
        freedom: Degrees of freedom, not necessarily a whole number.

    >>> round(t_quantile(0.975, 9), 4)
    2.2622
    """
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < probability:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if t_cdf(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def t_cdf(value: float, freedom: float) -> float:
    """Returns P(T ≤ value) for Student's t distribution."""
    tail = _incomplete_beta(freedom / (freedom + value**2), freedom / 2, 0.5) / 2
    return 1 - tail if value > 0 else tail


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Returns the regularized incomplete beta function I_x(a, b) by its continued fraction."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):  # where the fraction of the mirrored function converges faster
        return 1 - _incomplete_beta(1 - x, b, a)
    gammas = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(gammas + a * math.log(x) + b * math.log1p(-x)) / a
    # From the innermost term outwards: 200 terms give full precision for any degrees of freedom.
    fraction = 1.0
    for m in range(200, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
        fraction = 1 + odd / (1 + even / fraction)
    return front / fraction

"""What a reviewer asks for: intervals over seeds, and randomized against plain seed by seed."""

from collections.abc import Collection, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float

from randpos.paper import PLAIN, RANDOMIZED
from randpos.results.scores import counted

DRAWS = 10_000
LEVEL = 0.95
BEST = "best"
"""Names the comparison of the best randomized encoding with the best plain one."""


class Interval(NamedTuple):
    """A bootstrap interval of a mean."""

    low: float
    high: float


@cache
def _weights(count: int) -> Float[np.ndarray, "draws count"]:
    """How often each of `count` values is drawn, over its number: the same draws every time."""
    even = np.full(count, 1 / count)
    return np.random.default_rng(0).multinomial(count, even, size=DRAWS) / count


def bootstrap(values: Float[np.ndarray, " seeds"]) -> Interval | None:
    """Returns the 95 % percentile interval of the mean; None for fewer than two values.

    >>> bootstrap(np.array([0.5, 0.5, 0.5]))
    Interval(low=0.5, high=0.5)
    """
    if len(values) < 2:
        return None
    # Around the mean: equal values must give an interval without width.
    centre = float(values.mean())
    means = _weights(len(values)) @ (values - centre)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(centre + float(low), centre + float(high))


class Comparison(NamedTuple):
    """Randomized minus plain on one task, paired by seed, each at its own best rate."""

    task: str
    pair: str
    """The plain encoding's name, or `best`."""
    randomized: str
    plain: str
    seeds: int
    difference: float
    interval: Interval | None

    @property
    def sign(self) -> str:
        """Which side the interval is on: +, − or 0 if it holds zero; empty without an interval."""
        if self.interval is None:
            return ""
        return "+" if self.interval.low > 0 else "−" if self.interval.high < 0 else "0"


def by_seed(scored: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Returns task, encoding, seed and score at each cell's best rate; `scored` has one budget."""
    best = cells.select("task", "encoding", learning_rate="rate")
    rows = counted(scored).join(best, on=["task", "encoding", "learning_rate"])
    return rows.select("task", "encoding", "seed", "score").sort("task", "encoding", "seed")


def compare(seeds: pl.DataFrame) -> Iterator[Comparison]:
    """Compares each randomized encoding with its plain form, and the best with the best.

    The best of either side is the encoding with the highest mean over its seeds. Both sides are
    chosen on the scores that are then compared, so that their intervals are too narrow.

    Args:
        seeds: Columns task, encoding, seed and score, as `by_seed` returns them.
    """
    for task in seeds["task"].unique(maintain_order=True):
        rows = seeds.filter(task=task)
        pairs = [(name.removeprefix("randomized-"), name) for name in RANDOMIZED]
        chosen = {plain: (name, plain) for plain, name in pairs}
        ours, theirs = _best(rows, RANDOMIZED), _best(rows, PLAIN)
        if ours and theirs:
            chosen[BEST] = (ours, theirs)
        for pair, (randomized, plain) in chosen.items():
            left = rows.filter(encoding=randomized)
            both = left.join(rows.filter(encoding=plain), on="seed")
            if both.height:
                gaps = (both["score"] - both["score_right"]).to_numpy()
                interval = bootstrap(gaps)
                mean = float(gaps.mean())
                yield Comparison(task, pair, randomized, plain, len(gaps), mean, interval)


def _best(rows: pl.DataFrame, names: Collection[str]) -> str | None:
    known = rows.filter(pl.col("encoding").is_in(list(names)))
    means = dict(known.group_by("encoding").agg(pl.col("score").mean()).iter_rows())
    # Rounded, so that equal means go to the first in the paper's order.
    return max((n for n in names if n in means), key=lambda n: round(means[n], 12), default=None)

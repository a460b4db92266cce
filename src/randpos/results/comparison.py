"""Compares randomized with plain encodings, seed by seed, and with the paper's difference."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Literal, NamedTuple

import polars as pl

from randpos.paper import PLAIN, RANDOMIZED, claim
from randpos.paper.looks import task_order
from randpos.paper.published import published_cells
from randpos.results.scores import best_rates, counted_runs
from randpos.results.selection import like_with_like
from randpos.results.statistics import (
    FEWEST,
    Interval,
    Sample,
    mean_interval,
    shared_error,
    welch_interval,
)

BEST = "best"
"""Names the comparison of the best randomized encoding with the best plain one."""
ROUNDED = 0.05
"""The paper prints standard deviations to one decimal: a printed 0.0 may be as large as this."""

Verdict = Literal[
    "same sign as in the paper",
    "opposite sign",
    "clear in the paper only",
    "clear here only",
    "clear in neither",
    "not in the paper's tables",
    "fewer than 3 seeds",
    "learnt by neither",
    "learnt by the plain encoding only",
    "learnt by the randomized encoding only",
]


class Difference(NamedTuple):
    """Randomized minus plain, as a difference of means and its 95 % interval."""

    value: float
    interval: Interval | None


class Comparison(NamedTuple):
    """A randomized and a plain encoding on one task, over the seeds and rates that both have.

    All numbers are percentages.
    """

    task: str
    pair: str
    """The plain encoding's name, or `best`."""
    randomized: str
    plain: str
    seeds: tuple[int, ...]
    gaps: tuple[float, ...]
    """Randomized minus plain for each seed, each side at its best learning rate."""
    in_domain: tuple[float, float]
    """Mean in-domain accuracy of the randomized and of the plain side."""
    learnt: tuple[bool, bool]
    """Whether each side learnt the task, by most of its seeds."""
    paper: Difference | None
    """The same difference in the paper's Table 4."""
    error: float | None = None
    """Standard error of the tests, which the seeds share; None if it was not measured."""

    @property
    def ours(self) -> Difference:
        """Our difference, with a paired interval from three seeds on."""
        return Difference(sum(self.gaps) / len(self.gaps), mean_interval(self.gaps, self.error))

    @property
    def verdict(self) -> Verdict:
        """What our difference says beside the paper's, each judged by its own interval."""
        match self.learnt:
            case False, False:
                return "learnt by neither"
            case True, False:
                return "learnt by the randomized encoding only"
            case False, True:
                return "learnt by the plain encoding only"
        interval = self.ours.interval
        if interval is None:
            return "fewer than 3 seeds"
        if self.paper is None or self.paper.interval is None:
            return "not in the paper's tables"
        match interval.sign, self.paper.interval.sign:
            case 0, 0:
                return "clear in neither"
            case 0, _:
                return "clear in the paper only"
            case _, 0:
                return "clear here only"
            case ours, theirs:
                return "same sign as in the paper" if ours == theirs else "opposite sign"


class MeanDifference(NamedTuple):
    """Randomized minus plain, as a mean over pairs of encodings and over seeds, in percent."""

    pairs: list[Comparison]
    """The pairs that the mean is over."""
    seeds: int
    value: float
    interval: Interval | None
    error: float | None
    """Standard error of the tests; None if that of a pair was not measured."""
    paper: float | None
    """The mean of the paper's differences over the same pairs; None if it lacks one."""


def mean_difference(found: Iterable[Comparison]) -> MeanDifference | None:
    """Returns the mean difference of the pairs that were learnt, over the seeds that all have.

    A pair is left out if neither side has learnt the task. It counts if one side has: otherwise
    the mean would not see that the other has failed. Pairs of too few seeds for an interval are
    left out where others have enough.

    Args:
        found: Comparisons of randomized encodings with their plain forms.

    Returns:
        The mean; None without such a pair, and if the pairs have no seed in common.
    """
    learnt = [pair for pair in found if any(pair.learnt)]
    pairs = [pair for pair in learnt if len(pair.seeds) >= FEWEST] or learnt
    seeds = sorted(set.intersection(*(set(pair.seeds) for pair in pairs))) if pairs else []
    if not seeds:
        return None
    gaps = [dict(zip(pair.seeds, pair.gaps, strict=True)) for pair in pairs]
    means = [sum(gap[seed] for gap in gaps) / len(pairs) for seed in seeds]
    # The pairs of a task are tested on the same examples: their errors may have the same sign.
    by_task = defaultdict[str, float](float)
    for pair in pairs:
        by_task[pair.task] += pair.error or 0.0
    known = all(pair.error is not None for pair in pairs)
    error = math.hypot(*by_task.values()) / len(pairs) if known else None
    paper = [pair.paper.value for pair in pairs if pair.paper]
    return MeanDifference(
        pairs,
        len(seeds),
        sum(means) / len(means),
        mean_interval(means, error),
        error,
        sum(paper) / len(paper) if len(paper) == len(pairs) else None,
    )


def compare(runs: pl.DataFrame) -> Iterator[Comparison]:
    """Compares each randomized encoding with its plain form, and the best with the best.

    The best of either side is the encoding with the highest mean. It is chosen on the scores that
    are then compared, so that its interval is too narrow.

    Args:
        runs: Scored runs of one budget, with randomized positions drawn in one way.
    """
    tested = counted_runs(runs).filter(pl.col("encoding").is_in([*PLAIN, *RANDOMIZED]))
    for task in task_order(tested["task"].unique()):
        rows = tested.filter(pl.col("task") == task)
        for name in RANDOMIZED:
            plain = name.removeprefix("randomized-")
            both = rows.filter(pl.col("encoding").is_in([name, plain]))
            yield from _pair(task, plain, name, plain, _alike(both))
        shared = _alike(rows)
        randomized, plain = _best(shared, RANDOMIZED), _best(shared, PLAIN)
        if randomized and plain:
            yield from _pair(task, BEST, randomized, plain, shared, set(shared["encoding"]))


def _alike(rows: pl.DataFrame) -> pl.DataFrame:
    return like_with_like(rows, ["encoding"], ["task"]).filter("alike")


def _pair(
    task: str,
    pair: str,
    randomized: str,
    plain: str,
    rows: pl.DataFrame,
    ran: Collection[str] = (),
) -> Iterator[Comparison]:
    """Yields the comparison of two encodings, if both have runs with a common seed."""
    left, right = paired(rows, "encoding", randomized, plain)
    if left.is_empty():
        return
    theirs = published_difference(task, [randomized], [plain])
    if ran:
        sides = ([n for n in names if n in ran] for names in (RANDOMIZED, PLAIN))
        theirs = published_difference(task, *sides)
    gaps, error = gaps_by_seed(left, right)
    yield Comparison(
        task,
        pair,
        randomized,
        plain,
        tuple(left["seed"]),
        gaps,
        (_in_domain(left), _in_domain(right)),
        _learnt(left, right),
        theirs,
        error,
    )


def gaps_by_seed(left: pl.DataFrame, right: pl.DataFrame) -> tuple[tuple[float, ...], float | None]:
    """Returns left minus right for each seed, and the error that the seeds share, in percent.

    Args:
        left: Runs of one value of a setting, as `paired` returns them.
        right: Those of the other.
    """
    error = shared_error(left["score_error"].to_list(), right["score_error"].to_list())
    gaps = tuple(100 * (left["score"] - right["score"]))
    return gaps, None if error is None else 100 * error


def paired(
    rows: pl.DataFrame, setting: str, first: str, second: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the runs of two values of a setting, each at its best rate, over the same seeds.

    Args:
        rows: Runs of one task, over the seeds and rates that both values have.
        setting: The column of the setting.
        first: One value.
        second: The other.
    """
    left, right = (
        best_rates(rows.filter(pl.col(setting) == value), ["task"]) for value in (first, second)
    )
    return (
        left.join(right, on="seed", how="semi").sort("seed"),
        right.join(left, on="seed", how="semi").sort("seed"),
    )


def _in_domain(runs: pl.DataFrame) -> float:
    return 100 * float(runs["in_domain"].to_numpy().mean())


def _learnt(left: pl.DataFrame, right: pl.DataFrame) -> tuple[bool, bool]:
    """Whether most runs of each side learnt their task.

    True where the chance level is not known, as in a user's own task. One side whose answers are
    constant beyond N has failed to generalize, which is a result; of two such sides there is none.
    """
    if all(_most(side["constant"].fill_null(False)) for side in (left, right)):
        return False, False
    return _most(left["learnt"].fill_null(True)), _most(right["learnt"].fill_null(True))


def _most(flags: pl.Series) -> bool:
    return 2 * flags.sum() > len(flags)


def _best(rows: pl.DataFrame, names: Collection[str]) -> str | None:
    known = best_rates(rows.filter(pl.col("encoding").is_in(list(names))), ["encoding"])
    means = dict(known.group_by("encoding").agg(pl.col("score").mean()).iter_rows())
    # Rounded, so that equal means go to the first in the paper's order.
    return max((n for n in names if n in means), key=lambda n: round(means[n], 12), default=None)


def published_difference(
    task: str, randomized: Collection[str], plain: Collection[str]
) -> Difference | None:
    """Returns the best of some randomized encodings minus the best of some plain ones, in Table 4.

    The interval is Welch's, from the printed means and standard deviations over ten seeds.
    """
    samples = _published_samples()
    sides = [
        max((samples[task, name] for name in names if (task, name) in samples), default=None)
        for names in (randomized, plain)
    ]
    left, right = sides
    if left is None or right is None:
        return None
    return Difference(left.mean - right.mean, welch_interval(left, right))


@cache
def _published_samples() -> dict[tuple[str, str], Sample]:
    return {
        key: Sample(cell["mean"], max(cell["sd"], ROUNDED), int(claim("seeds")))
        for key, cell in published_cells("means").items()
    }

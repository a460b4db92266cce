"""Short training with randomized positions against training on long sequences (section 4).

The paper's figure shows the test accuracy (the mean over lengths 41..500) over training time. It
comes from tests during training, if a run has them. Otherwise every run of the store gives one
point: with a constant learning rate a run of fewer steps is the beginning of a longer one with the
same seed, so that runs of several budgets make a curve.

The accuracy on *training* batches over time is kept as well. For N = 500 it is close to the test
accuracy; for N = 40 it is the accuracy on short sequences only.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float

from randpos.errors import UserError
from randpos.results.scores import (
    PAPER,
    best_rates,
    best_runs,
    counted_accuracies,
    score_runs,
)
from randpos.store.tables import StoreTables
from randpos.training.mean_accuracy import Range, mean_accuracies

TASK = "missing_duplicate"
THRESHOLD = 0.9
REMEDY = "randpos reproduce efficiency"
SAME_START = ["variant", "batch", "training_length", "maximum", "seed", "learning_rate"]
"""Columns that two runs share if the shorter run is the beginning of the longer one."""

Curve = Float[np.ndarray, "point 2"]


class Contender(NamedTuple):
    """One way to train: the best seed at the best learning rate, and the other seeds at it."""

    encoding: str
    training_length: int
    seed: int
    learning_rate: float
    steps: int
    """Of the longest run."""
    steps_per_second: float
    """Of the longest run; compiling is not counted."""
    training: Curve
    """Seconds and accuracy on training batches, of the longest run."""
    test: Curve
    """Seconds and mean accuracy over the test lengths."""
    others: tuple[Curve, ...] = ()
    """The same of the other seeds with as many steps, if they were tested along the way."""
    reading: str = ""
    """How positions were drawn, if not as the paper's text says."""

    @property
    def times(self) -> list[float | None]:
        """When each seed crossed the threshold; see `time_to`."""
        return [time_to(curve) for curve in (self.test, *self.others)]

    @property
    def time(self) -> float | None:
        """The mean time to the threshold over the seeds; None unless all of them crossed it."""
        known = [time for time in self.times if time is not None]
        return float(np.mean(known)) if len(known) == len(self.times) else None


class Efficiency(NamedTuple):
    """Both ways to train, on the same machine and task."""

    task: str
    short: Contender
    long: Contender
    lengths: tuple[int, int]
    """The lengths, both included, over which the test accuracy is the mean."""

    @property
    def speed_ratio(self) -> float:
        """Steps per second of short training over those of long training (paper: 7.6)."""
        return self.short.steps_per_second / self.long.steps_per_second

    @property
    def time_ratio(self) -> float | None:
        """Time of long training to the threshold over that of short training (paper: 35.4).

        None unless both are known to have crossed it.
        """
        short, long = self.short.time, self.long.time
        return None if short is None or long is None else long / short


def time_to(curve: Curve, threshold: float = THRESHOLD) -> float | None:
    """Returns when a curve first crosses the threshold, interpolated over the logarithm of time.

    None if it stays below, and if its first point is above already.
    """
    above = np.flatnonzero(curve[:, 1] > threshold)
    if not len(above) or above[0] == 0:
        return None
    (begin, low), (end, high) = curve[above[0] - 1 : above[0] + 1]
    return float(begin * (end / begin) ** ((threshold - low) / (high - low)))


def compare_efficiency(records: StoreTables) -> Efficiency:
    """Compares randomized relative, trained on short sequences, with relative trained on long ones.

    The short training length is the shortest that randomized relative has been trained with on
    missing_duplicate (40), the long one the longest of relative (500). Runs that were tested along
    the way come first, since they have a curve.
    """
    scored = score_runs(records)
    done = scored.filter(
        pl.col("status") == "complete", pl.col("task") == TASK, pl.col("seconds") > 0
    )
    # One way of drawing positions, if possible the paper's; of several L the one nearest to its.
    distance = (pl.col("maximum") - PAPER.positions.maximum).abs()
    randomized = _followed(records, done.filter(pl.col("encoding") == "randomized-relative"))
    drawn = ["as_in_text", "reading", "draw"]
    first = randomized.select(drawn).unique().sort(drawn, descending=[True, False, False]).head(1)
    randomized = randomized.join(first, on=drawn, how="semi").filter(
        pl.col("training_length") == pl.col("training_length").min(), distance == distance.min()
    )
    plain = _followed(records, done.filter(pl.col("encoding") == "relative"))
    plain = plain.filter(pl.col("training_length") == pl.col("training_length").max())
    for name, found in (("randomized-relative", randomized), ("relative", plain)):
        if found.is_empty():
            raise UserError(f"No complete run of {name} on {TASK} is there; run {REMEDY} first.")
    seen = randomized["training_length"].item(0)
    if plain["training_length"].item(0) <= seen:
        raise UserError(
            f"relative has not been trained on {TASK} beyond the length {seen} of "
            f"randomized-relative, so there is nothing to compare; run {REMEDY} first."
        )
    randomized, plain = _alike(randomized, plain)
    lengths = (seen + 1, min(map(_longest, (randomized, plain))))
    short, long = (_contender(records, side, lengths) for side in (randomized, plain))
    return Efficiency(TASK, short, long, lengths)


def _followed(records: StoreTables, runs: pl.DataFrame) -> pl.DataFrame:
    """Keeps the runs that were tested along the way; all, if none was."""
    along = records.tests.filter(pl.col("step") > 0).select("run").unique()
    found = runs.join(along, on="run", how="semi")
    return runs if found.is_empty() else found


def _alike(left: pl.DataFrame, right: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Keeps the runs of one model and batch; of several, those of the largest batch."""
    kind = ["batch", "variant"]
    shared = left.select(kind).join(right.select(kind), on=kind).sort(kind, descending=True)
    if shared.is_empty():
        raise UserError(f"The runs on {TASK} share no model and batch; run {REMEDY} first.")
    return left.join(shared.head(1), on=kind, how="semi"), right.join(
        shared.head(1), on=kind, how="semi"
    )


def _longest(runs: pl.DataFrame) -> int:
    """Returns the largest M of the runs of the most steps."""
    return max(runs.filter(pl.col("steps") == pl.col("steps").max())["test_length"])


def _contender(records: StoreTables, runs: pl.DataFrame, lengths: tuple[int, int]) -> Contender:
    ends = {"score": (pl.lit(lengths[0]), pl.lit(lengths[1]))}
    means = mean_accuracies(counted_accuracies(records, runs), ["run"], ends)
    tested = runs.drop("score", "score_error").join(means, on="run").drop_nulls("score")
    if tested.is_empty():
        raise UserError(
            f"The runs of {runs['encoding'].item(0)} on {TASK} have not been tested over the "
            f"lengths {lengths[0]} to {lengths[1]}; run {REMEDY} first."
        )
    longest = tested.filter(pl.col("steps") == pl.col("steps").max())
    best = best_runs(best_rates(longest, ["encoding"]), ["encoding"])
    run = best.row(0, named=True)
    speed = run["step"] / run["seconds"]
    curve = [(step / speed, accuracy) for step, _, accuracy in json.loads(run["curve"])]
    test = _along(records, run, ends)
    others: list[Curve] = []
    if len(test):
        same = longest.filter(pl.col("learning_rate") == run["learning_rate"])
        rows = same.filter(pl.col("run") != run["run"]).sort("seed").iter_rows(named=True)
        followed = (_along(records, row, ends) for row in rows)
        others = [points for points in followed if len(points)]
    else:
        begun = tested.join(best, on=SAME_START, how="semi", nulls_equal=True).sort("seconds")
        points = begun.unique("steps", keep="first", maintain_order=True)
        test = points.select("seconds", "score").to_numpy().astype(np.float64)
    usual = run["as_in_text"] is not False
    return Contender(
        run["encoding"],
        run["training_length"],
        run["seed"],
        run["learning_rate"],
        run["steps"],
        speed,
        np.array(curve, np.float64).reshape(-1, 2),
        test,
        tuple(others),
        "" if usual else f"{run['reading']}, {run['draw'].replace('_', ' ')}",
    )


def _along(records: StoreTables, run: dict[str, Any], ends: Mapping[str, Range]) -> Curve:
    """Returns the seconds and mean accuracies of the tests along the way of a run."""
    own = records.tests.filter(pl.col("run") == run["run"], pl.col("step") > 0)
    means = mean_accuracies(own, ["step"], ends).drop_nulls("score").sort("step")
    points = means.select(pl.col("step") * run["seconds"] / run["step"], "score")
    return points.to_numpy().astype(np.float64)

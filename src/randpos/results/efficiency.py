"""Short training with randomized positions against training on long sequences (section 4).

The paper's figure shows the test accuracy (the mean over lengths 41..500) over training time. It
comes from tests during training, if a run has them. Otherwise every run of the store gives one
point: with a constant learning rate a run of fewer steps is the beginning of a longer one with the
same seed, so that runs of several budgets make a curve.

The accuracy on *training* batches over time is kept as well. For N = 500 it is close to the test
accuracy; for N = 40 it is the accuracy on short sequences only.
"""

import json
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float

from randpos.errors import UserError
from randpos.results.scores import (
    PAPER,
    best_runs,
    counted_accuracies,
    score_runs,
)
from randpos.store.tables import StoreTables
from randpos.training.mean_accuracy import mean_accuracies

TASK = "missing_duplicate"
THRESHOLD = 0.9
REMEDY = "randpos reproduce efficiency"
SAME_START = ["variant", "batch", "training_length", "maximum", "seed", "learning_rate"]
"""Columns that two runs share if the shorter run is the beginning of the longer one."""

Curve = Float[np.ndarray, "point 2"]


class Contender(NamedTuple):
    """One way to train: its best seed and learning rate."""

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
        short, long = time_to(self.short.test), time_to(self.long.test)
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
    missing_duplicate (40), the long one the longest of relative (500).
    """
    scored = score_runs(records)
    done = scored.filter(
        pl.col("status") == "complete", pl.col("task") == TASK, pl.col("seconds") > 0
    )
    # Only positions as in the paper's text; of several L the one nearest to the paper's.
    distance = (pl.col("maximum") - PAPER.positions.maximum).abs()
    randomized = done.filter(pl.col("encoding") == "randomized-relative", pl.col("as_in_text"))
    randomized = randomized.filter(
        pl.col("training_length") == pl.col("training_length").min(), distance == distance.min()
    )
    plain = done.filter(pl.col("encoding") == "relative")
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
    best = best_runs(longest, ["encoding"])
    run = best.row(0, named=True)
    speed = run["step"] / run["seconds"]
    curve = [(step / speed, accuracy) for step, _, accuracy in json.loads(run["curve"])]
    own = records.tests.filter(pl.col("run") == run["run"], pl.col("step") > 0)
    along = mean_accuracies(own, ["step"], ends).drop_nulls("score").sort("step")
    if along.is_empty():
        begun = tested.join(best, on=SAME_START, how="semi", nulls_equal=True).sort("seconds")
        points = begun.unique("steps", keep="first", maintain_order=True)
        test = points.select("seconds", "score")
    else:
        test = along.select(pl.col("step") / speed, "score")
    return Contender(
        run["encoding"],
        run["training_length"],
        run["seed"],
        run["learning_rate"],
        run["steps"],
        speed,
        np.array(curve, np.float64).reshape(-1, 2),
        test.to_numpy().astype(np.float64),
    )

"""Short training with randomized positions against training on long sequences (section 4).

The paper's figure shows the *test* accuracy (the mean over lengths 41..500) over training time. A
run is tested once, at its end, so the store has two things instead:

- the accuracy on the *training* batches over time, which for N = 500 is nearly the test accuracy,
  but for N = 40 is the accuracy on short sequences and says nothing of longer ones;
- the test accuracy of every run. As the learning rate is constant, a run of fewer steps is the
  beginning of a longer one with the same seed: runs of several budgets are the test accuracy over
  time, at as many points as there are budgets.

The times to 90 % that are compared are those of the test accuracy, interpolated between budgets;
a single budget gives none.
"""

import json
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float

from randpos.errors import UserError
from randpos.results.selection import best_runs, scores
from randpos.store.tables import StoreTables

TASK = "missing_duplicate"
THRESHOLD = 0.9
REMEDY = "randpos reproduce efficiency"

Curve = Float[np.ndarray, "point 2"]


class Contender(NamedTuple):
    """One way to train: its best seed and learning rate, at all budgets of the store."""

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
    """Seconds and mean accuracy over the test lengths, one row per budget."""


class Efficiency(NamedTuple):
    """Both ways to train, on the same machine and task."""

    task: str
    short: Contender
    long: Contender
    lengths: tuple[int, int]
    """The lengths, both included, over which the test accuracy is the mean."""

    @property
    def speed_ratio(self) -> float:
        """How many times as many steps per second short training takes (paper: 7.6)."""
        return self.short.steps_per_second / self.long.steps_per_second

    @property
    def time_ratio(self) -> float | None:
        """How many times as soon it reaches the threshold of the test accuracy (paper: 35.4).

        None unless both are known to have crossed it.
        """
        short, long = time_to(self.short.test), time_to(self.long.test)
        return None if short is None or long is None else long / short


def time_to(curve: Curve, threshold: float = THRESHOLD) -> float | None:
    """Returns when a curve first crosses the threshold, interpolated over the logarithm of time.

    None if it stays below; also if its first point lies above already, as then nobody knows when.
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
    runs = records.runs.filter(
        (pl.col("status") == "complete") & (pl.col("task") == TASK) & (pl.col("seconds") > 0)
    )
    # Only positions as the paper has them: other values of L are another experiment.
    randomized = runs.filter(encoding="randomized-relative", reading="positions", draw="per_batch")
    randomized = randomized.filter(
        pl.col("training_length") == pl.col("training_length").min(),
        (pl.col("maximum") - 2048).abs() == (pl.col("maximum") - 2048).abs().min(),
    )
    plain = runs.filter(encoding="relative")
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
    short, long = (_contender(records, found, lengths) for found in (randomized, plain))
    return Efficiency(TASK, short, long, lengths)


def _alike(*sides: pl.DataFrame) -> list[pl.DataFrame]:
    """Keeps the runs of one model, batch and clipping; of several, those of the largest batch."""

    def kind(config: str) -> tuple[int, str]:
        data = json.loads(config)
        return data["batch"], json.dumps([data["model"], data["clip"]], sort_keys=True)

    kinds = [[kind(config) for config in runs["config"]] for runs in sides]
    shared = set.intersection(*map(set, kinds))
    if not shared:
        raise UserError(f"The runs on {TASK} share no model and batch; run {REMEDY} first.")
    chosen = max(shared)
    return [
        runs.filter(pl.Series([one == chosen for one in found], dtype=pl.Boolean))
        for runs, found in zip(sides, kinds, strict=True)
    ]


def _longest(runs: pl.DataFrame) -> int:
    """Returns how far the runs of the most steps were to be tested, at most."""
    longest = runs.filter(pl.col("steps") == pl.col("steps").max())
    return max(longest["test_length"])


def _contender(records: StoreTables, runs: pl.DataFrame, lengths: tuple[int, int]) -> Contender:
    scored = scores(records, runs, first=lengths[0], last=lengths[1])
    if scored.is_empty():
        raise UserError(
            f"The runs of {runs['encoding'].item(0)} on {TASK} have not been tested over the "
            f"lengths {lengths[0]} to {lengths[1]}; run {REMEDY} first."
        )
    longest = scored.filter(pl.col("steps") == pl.col("steps").max())
    best = best_runs(longest, ["encoding"]).row(0, named=True)
    begun_alike = [_but_steps(text) == _but_steps(best["config"]) for text in scored["config"]]
    same = scored.filter(pl.Series(begun_alike))
    same = same.sort("seconds").unique("steps", keep="first", maintain_order=True)
    speed = best["step"] / best["seconds"]
    curve = [(step / speed, accuracy) for step, _, accuracy in json.loads(best["curve"])]
    return Contender(
        best["encoding"],
        best["training_length"],
        best["seed"],
        best["learning_rate"],
        best["steps"],
        speed,
        np.array(curve, np.float64).reshape(-1, 2),
        same.select("seconds", "score").to_numpy().astype(np.float64),
    )


def _but_steps(config: str) -> dict[str, object]:
    """Returns what decides how a run begins."""
    beside = ("steps", "evaluation", "test_length")
    return {name: value for name, value in json.loads(config).items() if name not in beside}

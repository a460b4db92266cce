"""Curves over length and over training steps: means over seeds with their spread."""

import polars as pl

from randpos.results.scores import counted_accuracies
from randpos.store.tables import StoreTables
from randpos.training.mean_accuracy import mean_accuracies

CELL = ["task", "encoding"]


def curves_over_length(records: StoreTables, runs: pl.DataFrame) -> pl.DataFrame:
    """Returns the accuracy by length of every task and encoding: its mean and spread over runs.

    Runs may be tested at different lengths; only those that all runs of a cell share are kept,
    because a mean over other runs at every length would jump.

    Args:
        records: The store.
        runs: Scored runs, the seeds of one learning rate for each task and encoding.

    Returns:
        Columns task, encoding, length, mean and spread (the standard deviation over runs; 0 of a
        single run), sorted.
    """
    rows = counted_accuracies(records, runs).rename({"accuracy": "value"})
    return _over_runs(rows, runs, "length")


def curves_over_steps(records: StoreTables, runs: pl.DataFrame) -> pl.DataFrame:
    """Returns the score by step, from tests during training.

    The arguments are those of `curves_over_length`.

    Returns:
        Columns task, encoding, step, mean and spread, sorted; empty without such tests.
    """
    return _over_runs(scores_over_steps(records, runs).rename({"score": "value"}), runs, "step")


def scores_over_steps(records: StoreTables, runs: pl.DataFrame) -> pl.DataFrame:
    """Returns the score of runs at every tested step: columns run, step and score, sorted."""
    tests = records.tests.join(runs.select("run", "training_length", "test_length"), on="run")
    ends = {"score": (pl.col("training_length") + 1, pl.col("test_length"))}
    scores = mean_accuracies(tests, ["run", "step"], ends).drop_nulls("score")
    return scores.select("run", "step", "score").sort("run", "step")


def _over_runs(rows: pl.DataFrame, runs: pl.DataFrame, axis: str) -> pl.DataFrame:
    rows = rows.select("run", axis, "value").join(runs.select("run", *CELL), on="run")
    sizes = runs.group_by(CELL).agg(size=pl.col("run").n_unique())
    means = rows.group_by(*CELL, axis).agg(
        mean=pl.col("value").mean(),
        spread=pl.col("value").std().fill_null(0.0),
        runs=pl.len(),
    )
    shared = means.join(sizes, on=CELL).filter(pl.col("runs") == pl.col("size"))
    return shared.select(*CELL, axis, "mean", "spread").sort(*CELL, axis)

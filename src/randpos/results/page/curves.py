"""Curves small enough for a page: fewer points, and accuracies as whole thousandths."""

import json
import math
from typing import Any

import polars as pl

from randpos.facts import tasks
from randpos.paper.looks import encoding_label, encoding_order, look, task_label, task_order
from randpos.results.curves import (
    CELL,
    curves_over_length,
    curves_over_steps,
    scores_over_steps,
)
from randpos.results.scores import best_rates, counted_accuracies, counted_runs
from randpos.results.selection import like_with_like, span
from randpos.store.tables import StoreTables

FINE, COARSE = 250, 60
"""Points of a curve that is compared with others, and of a single run's."""
DASHES = {"--": [5, 3], "-": [1, 0], ":": [1, 3]}
"""The lines of `looks` for Vega-Lite."""


def thinned(rows: pl.DataFrame, by: list[str], axis: str, points: int) -> pl.DataFrame:
    """Keeps about so many rows of each group; always the first, the last, N and N+1 of lengths.

    Args:
        rows: Sorted by `by` and `axis`.
        by: The columns of a group.
        axis: `length`, beside a column training_length, or `step`.
        points: How many rows of a group are kept, about.
    """
    place, count = pl.int_range(pl.len()).over(by), pl.len().over(by)
    every = (count + points - 1) // points
    kept = (place % every == 0) | (place == count - 1)
    if axis == "length":
        kept |= (pl.col("length") - pl.col("training_length")).is_in([0, 1])
    return rows.filter(kept)


def over_length(records: StoreTables, scored: pl.DataFrame, points: int) -> pl.DataFrame:
    """Returns one row for each tested run: `length` and `accuracies`, both as lists."""
    rows = thinned(counted_accuracies(records, scored), ["run"], "length", points)
    return rows.group_by("run", maintain_order=True).agg(
        "length", accuracies=thousandths("accuracy")
    )


def over_steps(records: StoreTables, scored: pl.DataFrame) -> pl.DataFrame:
    """Returns one row per run that was tested during training: `step` and `scores`, as lists."""
    rows = thinned(scores_over_steps(records, scored), ["run"], "step", COARSE)
    return rows.group_by("run", maintain_order=True).agg("step", scores=thousandths("score"))


def thousandths(column: str) -> pl.Expr:
    """Returns a share as a whole number."""
    return (pl.col(column) * 1000).round().cast(pl.Int16)


def mean_curves(records: StoreTables, chosen: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Returns the panels over length and over steps, each with the mean curve of every encoding.

    Args:
        records: The store.
        chosen: Scored runs of one budget and one way to draw positions.
    """
    shared = like_with_like(counted_runs(chosen), ["encoding"], ["task"])
    runs = best_rates(shared, CELL)
    seen = runs.group_by("task").agg(pl.col("training_length").max())
    by_length = curves_over_length(records, runs).join(seen, on="task", maintain_order="left")
    by_step = curves_over_steps(records, runs)
    return {
        "lengths": _panels(thinned(by_length, CELL, "length", FINE), runs, "length"),
        "steps": _panels(thinned(by_step, CELL, "step", FINE), runs, "step"),
    }


def _panels(lines: pl.DataFrame, runs: pl.DataFrame, axis: str) -> list[dict[str, Any]]:
    """Returns one panel per task: its series, and what all of them share."""
    short = lines.group_by(CELL, maintain_order=True).agg(
        axis, thousandths("mean"), thousandths("spread")
    )
    panels = []
    for task in task_order(short["task"].unique()):
        series = {row[1]: row[2:] for row in short.filter(pl.col("task") == task).iter_rows()}
        own = runs.filter(pl.col("task") == task)
        panels.append(
            {
                "label": task_label(task),
                "over": f"seeds: {span(own.group_by('encoding').len()['len'])}",
                "chance": 100 * tasks()[task].chance if task in tasks() else None,
                "seen": own["training_length"].max(),
                "series": [
                    {"encoding": name, **dict(zip("xys", series[name], strict=True))}
                    for name in encoding_order(series)
                ],
            }
        )
    return panels


def styles(encodings: list[str]) -> dict[str, dict[str, Any]]:
    """Returns label, colour and dashes of encodings, in the paper's order."""
    looks = {name: look(name) for name in encoding_order(encodings)}
    return {
        name: {"label": encoding_label(name), "colour": drawn.color, "dash": DASHES[drawn.line]}
        for name, drawn in looks.items()
    }


def learning_curve(text: str) -> list[list[float | None]]:
    """Reads and thins a learning curve; NaN becomes null.

    >>> learning_curve("[[1, 0.70001, 0.5], [2, NaN, 0.75]]")
    [[1, 0.7, 0.5], [2, None, 0.75]]
    """
    points = json.loads(text)
    every = max(1, -(-len(points) // COARSE))
    # Counted from the end, which must be kept.
    kept = points[::-every][::-1]
    return [[step, _short(loss), _short(accuracy)] for step, loss, accuracy in kept]


def _short(number: float) -> float | None:
    """Keeps four digits, as many as a curve shows."""
    return float(f"{number:.4g}") if math.isfinite(number) else None

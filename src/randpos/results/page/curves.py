"""Curves small enough for a page: fewer points, and accuracies as whole thousandths."""

import json
import math
from typing import Any

import polars as pl

from randpos.paper.looks import encoding_label, encoding_order, look, task_label, task_order
from randpos.results.scores import best_runs, counted_accuracies, counted_runs
from randpos.results.selection import like_with_like, seeds_note
from randpos.store.tables import StoreTables
from randpos.tasks import TASKS

FINE, COARSE = 250, 60
"""Points of a curve that is compared with others, and of a single run's."""
DASHES = {"--": [5, 3], "-": [1, 0], ":": [1, 3]}
"""The lines of `looks` for Vega-Lite."""


def over_length(records: StoreTables, scored: pl.DataFrame, points: int) -> pl.DataFrame:
    """Returns one row for each tested run: `lengths` and `accuracies`, both as lists.

    Args:
        records: The store.
        scored: The runs to keep.
        points: How many lengths are kept, about; always the first, the last, N and N+1.
    """
    rows = counted_accuracies(records, scored)
    place, count = pl.int_range(pl.len()).over("run"), pl.len().over("run")
    every = (count + points - 1) // points
    edge = (pl.col("length") - pl.col("training_length")).is_in([0, 1])
    kept = rows.filter((place % every == 0) | (place == count - 1) | edge)
    thousandths = (pl.col("accuracy") * 1000).round().cast(pl.Int16)
    return kept.group_by("run", maintain_order=True).agg("length", accuracies=thousandths)


def best_curves(records: StoreTables, chosen: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns, for each task, the curves of the best run of each encoding.

    Args:
        records: The store.
        chosen: Scored runs of one budget and one way to draw positions.
    """
    shared = like_with_like(counted_runs(chosen), ["encoding"], ["task"])
    best = best_runs(shared, ["task", "encoding"])
    drawn = {row[0]: row[1:] for row in over_length(records, best, FINE).iter_rows()}
    panels = []
    for task in task_order(best["task"].unique()):
        runs = best.filter(pl.col("task") == task)
        by_encoding = dict(runs.select("encoding", "run").iter_rows())
        series = [
            {
                "encoding": encoding,
                "run": by_encoding[encoding],
                "x": drawn[by_encoding[encoding]][0],
                "y": drawn[by_encoding[encoding]][1],
            }
            for encoding in encoding_order(by_encoding)
        ]
        chance = 100 * TASKS[task].chance if task in TASKS else None
        seen = runs["training_length"].max()
        over = seeds_note(shared.filter(pl.col("task") == task)).replace("cell", "line")
        label = task_label(task)
        panels.append(
            {"label": label, "over": over, "chance": chance, "seen": seen, "series": series}
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

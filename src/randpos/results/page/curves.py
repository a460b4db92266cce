"""Curves small enough for a page: fewer points, and accuracies as whole thousandths."""

import json
import math
from typing import Any

import polars as pl

from randpos.paper.looks import task_label, task_order
from randpos.results.page.charts import style
from randpos.results.scores import cells
from randpos.results.tables.labels import encoding_label, encoding_order
from randpos.store.tables import StoreTables
from randpos.tasks import TASKS

FINE, COARSE = 250, 60
"""Points of a curve that is compared with others, and of a single run's."""


def over_length(records: StoreTables, scored: pl.DataFrame, points: int) -> pl.DataFrame:
    """Returns one row for each tested run: `lengths` and `accuracies`, both as lists.

    Args:
        records: The store.
        scored: The runs to keep, and how each was tested.
        points: How many lengths are kept, about; always the first, the last, N and N+1.
    """
    ways = scored.select("run", "tested_batch", "tested_seed", "training_length")
    rows = records.accuracies.filter(pl.col("accuracy").is_finite()).join(
        ways.with_columns(pl.col("tested_batch").cast(pl.Int32)),
        left_on=["run", "batch", "seed"],
        right_on=["run", "tested_batch", "tested_seed"],
    )
    rows = rows.sort("run", "length")
    place, count = pl.int_range(pl.len()).over("run"), pl.len().over("run")
    every = (count + points - 1) // points
    edge = (pl.col("length") - pl.col("training_length")).is_in([0, 1])
    kept = rows.filter((place % every == 0) | (place == count - 1) | edge)
    thousandths = (pl.col("accuracy").clip(0, 1) * 1000).round().cast(pl.Int16)
    return kept.group_by("run", maintain_order=True).agg("length", accuracies=thousandths)


def best_curves(records: StoreTables, chosen: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns, for each task, the curves of the best run of each encoding.

    Args:
        records: The store.
        chosen: Scored runs of one budget and one setting.
    """
    best = cells(chosen).filter(pl.col("run").is_not_null())
    picked = chosen.filter(pl.col("run").is_in(best["run"].implode()))
    drawn = {row[0]: row[1:] for row in over_length(records, picked, FINE).iter_rows()}
    by_cell = {(row["task"], row["encoding"]): row for row in best.iter_rows(named=True)}
    panels = []
    for task in task_order(task for task, _ in by_cell):
        series = [
            {
                "encoding": encoding,
                "run": by_cell[task, encoding]["run"],
                "x": drawn[by_cell[task, encoding]["run"]][0],
                "y": drawn[by_cell[task, encoding]["run"]][1],
            }
            for encoding in encoding_order(e for t, e in by_cell if t == task)
        ]
        chance = 100 * TASKS[task].chance if task in TASKS else None
        seen = max(by_cell[task, one["encoding"]]["training_length"] for one in series)
        panels.append({"label": task_label(task), "chance": chance, "seen": seen, "series": series})
    return panels


def styles(encodings: list[str]) -> dict[str, dict[str, Any]]:
    """Returns label, colour and dashes of encodings, in the paper's order."""
    return {
        name: {"label": encoding_label(name), **style(name)} for name in encoding_order(encodings)
    }


def learning_curve(text: str) -> list[list[float | None]]:
    """Reads a learning curve; points that are not steps are left out, NaN becomes null.

    >>> learning_curve("[[1, 0.70001, 0.5], [2, NaN, 0.75]]")
    [[1, 0.7, 0.5], [2, None, 0.75]]
    """
    try:
        points = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(points, list) or not points:
        return []
    every = -(-len(points) // COARSE)
    # Counted from the end, which must be kept.
    kept = points[::-every][::-1]
    return [[p[0], *(_short(number) for number in p[1:])] for p in kept if _is_point(p)]


def _is_point(point: Any) -> bool:
    if not isinstance(point, list) or len(point) != 3:
        return False
    return all(type(number) in (int, float) for number in point) and abs(point[0]) < 2**53


def _short(number: float) -> float | None:
    """Keeps four digits, which is all that a curve shows."""
    return float(f"{number:.4g}") if math.isfinite(number) and abs(number) < 1e300 else None

"""Accuracy over length: one panel per task, one line per encoding (appendix B.2)."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from randpos.analysis.selection import best_runs, comparable, scores, tested
from randpos.errors import UserError
from randpos.figures.budgets import budget_line
from randpos.figures.palette import GUIDE, stacks, task_order, task_title
from randpos.figures.style import (
    WIDTH,
    caption,
    chance_line,
    hide_unused,
    line_style,
    percent,
    sample_line,
    styled,
)
from randpos.records import Records

Statistic = Literal["best", "mean"]
SAID = {
    "best": "Lines: the run with the best score (the mean over lengths beyond N) of all seeds and "
    "learning rates.",
    "mean": "Lines: the mean over seeds at the learning rate with the best mean score; bands: one "
    "standard deviation.",
}

WIDEST = 5
"""Columns of the legend: as many as fit the width."""


class Line(NamedTuple):
    """What one line of a panel shows."""

    lengths: Float[np.ndarray, " length"]
    accuracies: Float[np.ndarray, " length"]
    spread: Float[np.ndarray, " length"] | None
    """The standard deviation over seeds, of a mean."""


@styled
def curves(
    records: Records,
    tasks: Sequence[str] = (),
    encodings: Sequence[str] = (),
    *,
    statistic: Statistic = "best",
) -> Figure:
    """Draws accuracy over length for all encodings, with the training range and chance marked.

    Args:
        records: What a store holds; of several budgets the largest is drawn.
        tasks: Which tasks, by default all that have been tested; one panel each.
        encodings: Which encodings, by default all that have been tested.
        statistic: The `best` run, as in the paper's tables, or the `mean` over seeds.
    """
    runs = records.runs
    if tasks:
        runs = runs.filter(pl.col("task").is_in(list(tasks)))
    if encodings:
        runs = runs.filter(pl.col("encoding").is_in(list(encodings)))
    chosen = comparable(scores(records, runs))
    if chosen.is_empty():
        wanted = " of " + ", ".join([*tasks, *encodings]) if tasks or encodings else ""
        raise UserError(
            f"No trained and tested run{wanted} is there to draw curves of; "
            "run randpos reproduce curves first."
        )
    points = tested(records).filter(pl.col("run").is_in(chosen["run"].implode()))
    order = task_order(set(chosen["task"]))

    columns = min(3, len(order))
    rows = math.ceil(len(order) / columns)
    size = (WIDTH, 1.45 * rows + 1.35) if columns > 1 else (WIDTH, 3.6)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    panels: list[Axes] = list(grid.flat)
    hide_unused(panels, len(order))
    for number, (axes, task) in enumerate(zip(panels, order, strict=False)):
        _panel(axes, task, chosen.filter(task=task), points, statistic)
        below = number + columns >= len(order)
        axes.set_xlabel("Sequence length" if below else "")
        axes.set_ylabel("Accuracy (%)" if number % columns == 0 else "")
    _legend(figure, set(chosen["encoding"]), len(order) == 1)
    caption(figure, f"{SAID[statistic]}\n{budget_line(chosen, points)}{_others(runs, chosen)}")
    return figure


def _others(runs: pl.DataFrame, chosen: pl.DataFrame) -> str:
    """Says how many runs stay out because they were trained or tested in another way."""
    count = runs.filter(status="complete").height - chosen.height
    if count == 0:
        return ""
    return f" {count:,} other {'run' if count == 1 else 'runs'} of the store not shown."


def curve(runs: pl.DataFrame, points: pl.DataFrame, statistic: Statistic) -> Line:
    """Returns the line of one encoding on one task.

    Args:
        runs: Its runs with their scores.
        points: Accuracies of at least these runs.
        statistic: Which line.
    """
    if statistic == "best":
        runs = best_runs(runs, ["encoding"])
    else:
        rates = runs.group_by("learning_rate").agg(pl.col("score").mean())
        rate = rates.sort("score", "learning_rate", descending=[True, False])["learning_rate"][0]
        runs = runs.filter(learning_rate=rate)
    own = points.filter(pl.col("run").is_in(runs["run"].implode()))
    # Runs may be tested at different lengths; a mean over other runs at every length would jump.
    table = own.group_by("length").agg(
        pl.col("accuracy").mean().alias("mean"),
        pl.col("accuracy").std().fill_null(0.0).alias("spread"),
        pl.len().alias("runs"),
    )
    table = table.filter(pl.col("runs") == len(runs)).sort("length")
    x, y, sd = (table[name].to_numpy().astype(np.float64) for name in ("length", "mean", "spread"))
    return Line(x, y, sd if statistic == "mean" else None)


def _panel(
    axes: Axes, task: str, runs: pl.DataFrame, points: pl.DataFrame, statistic: Statistic
) -> None:
    seen, longest = runs["training_length"].item(0), runs["test_length"].item(0)
    axes.axvspan(0, seen, color="#f2f2f2", zorder=0)
    axes.axvline(seen, color=GUIDE, linestyle="--", linewidth=0.9, gid="training")
    chance_line(axes, task)
    names = [name for stack in stacks(set(runs["encoding"])) for name in stack]
    # Plain encodings first, so that a randomized one is never hidden under them.
    names.sort(key=lambda name: name.startswith("randomized"))
    for number, name in enumerate(names):
        x, y, spread = curve(runs.filter(encoding=name), points, statistic)
        style = line_style(name)
        # Few markers, at other places on every line, so that they do not cover each other.
        every = max(1, len(x) // 5)
        axes.plot(x, y, **style, gid=name, markevery=(number * every // len(names), every))
        if spread is not None:
            axes.fill_between(x, y - spread, y + spread, color=style["color"], alpha=0.15, lw=0)
    axes.set_title(task_title(task))
    axes.set_xlim(0, longest)
    axes.set_ylim(0, 1.04)
    axes.yaxis.set_major_formatter(percent)


def _legend(figure: Figure, encodings: set[str], single: bool) -> None:
    """Puts the plain encodings in one row and their randomized versions under them."""
    guides = [
        Line2D([], [], color=GUIDE, linestyle="--", linewidth=0.9, label="Training range"),
        Line2D([], [], color="black", linestyle=":", linewidth=0.8, label="Chance"),
    ]
    found = stacks(encodings)
    if single:
        names = [name for stack in found for name in stack]
        handles = [*map(sample_line, names), *guides]
        figure.legend(handles=handles, loc="outside right upper", handlelength=2.4)
        return
    pairs = [stack[:2] for stack in found if len(stack) > 1]
    rest = [sample_line(name) for s in found for name in (s if len(s) == 1 else s[2:])] + guides
    rows: list[list[Line2D]] = []
    for start in range(0, len(pairs), WIDEST):
        some = pairs[start : start + WIDEST]
        rows += [[sample_line(pair[i]) for pair in some] for i in (0, 1)]
    rows += [rest[start : start + WIDEST] for start in range(0, len(rest), WIDEST)]
    width = max(map(len, rows))
    blank = Line2D([], [], linestyle="", label=" ")
    filled = [row + [blank] * (width - len(row)) for row in rows]
    # A legend is filled column by column.
    handles = [row[column] for column in range(width) for row in filled]
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=width,
        fontsize=7,
        columnspacing=1.0,
        handlelength=2.3,
        handletextpad=0.5,
    )

"""Accuracy over length: one panel per task, one line per encoding (appendix B.2)."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from randpos.errors import UserError
from randpos.paper.looks import stacks, task_order, task_title
from randpos.results.figures.legend import draw_legend, legend_rows
from randpos.results.figures.style import (
    GUIDE,
    WIDTH,
    caption,
    chance_line,
    hide_unused,
    line_style,
    percent,
    styled,
)
from randpos.results.scores import (
    best_rates,
    best_runs,
    counted_accuracies,
    counted_runs,
    score_runs,
)
from randpos.results.selection import alike_note, like_with_like, seeds_note, select
from randpos.store.tables import StoreTables

Statistic = Literal["best", "mean"]
CAPTIONS = {
    "best": "Lines: the run with the best score (the mean over lengths beyond N) over seeds and "
    "learning rates.",
    "mean": "Lines: the mean over seeds at the learning rate with the best mean score; bands: one "
    "standard deviation over seeds.",
}
SHARED = {"best": ("seed", "learning_rate"), "mean": ("learning_rate",)}
"""What all lines of a panel must share, so that their means are over the same seeds."""


class Line(NamedTuple):
    """The data of one line of a panel."""

    lengths: Float[np.ndarray, " length"]
    accuracies: Float[np.ndarray, " length"]
    spread: Float[np.ndarray, " length"]
    """The standard deviation over seeds; 0 of a single run."""


def curves_of_store(records: StoreTables, store: Path) -> Figure:
    """Draws the curves of all tasks and encodings of a store."""
    return curves(records)


@styled
def curves(
    records: StoreTables,
    tasks: Sequence[str] = (),
    encodings: Sequence[str] = (),
    *,
    statistic: Statistic = "mean",
) -> Figure:
    """Draws accuracy over length for all encodings, with the training range and chance marked.

    Args:
        records: A store's records; of several budgets that of the most cells is drawn.
        tasks: Which tasks, by default all that have been tested; one panel each.
        encodings: Which encodings, by default all that have been tested.
        statistic: The `mean` over seeds, or the `best` run as in the paper's Table 1.
    """
    scored = score_runs(records)
    if tasks:
        scored = scored.filter(pl.col("task").is_in(list(tasks)))
    if encodings:
        scored = scored.filter(pl.col("encoding").is_in(list(encodings)))
    chosen, notes = select(scored, scored.filter(pl.col("score").is_not_null()), None)
    runs = like_with_like(counted_runs(chosen), ["encoding"], ["task"], SHARED[statistic])
    if runs.is_empty():
        wanted = " of " + ", ".join([*tasks, *encodings]) if tasks or encodings else ""
        raise UserError(
            f"No trained and tested run{wanted} is there to draw curves of; "
            "run randpos reproduce curves first."
        )
    pick = best_runs if statistic == "best" else best_rates
    drawn = pick(runs, ["task", "encoding"])
    points = counted_accuracies(records, drawn)
    order = task_order(set(drawn["task"]))

    single = len(order) == 1
    columns = {1: 1, 2: 2, 4: 2}.get(len(order), 3)
    rows = math.ceil(len(order) / columns)
    entries = legend_rows(set(drawn["encoding"]), single)
    beside, above = max(3.6, 0.16 * len(entries) + 0.7), 1.45 * rows + 0.15 * len(entries) + 0.9
    figure = Figure(figsize=(WIDTH, beside if single else above), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    panels: list[Axes] = list(grid.flat)
    hide_unused(panels, len(order))
    for number, (axes, task) in enumerate(zip(panels, order, strict=False)):
        _panel(axes, task, drawn.filter(pl.col("task") == task), points, statistic)
        below = number + columns >= len(order)
        axes.set_xlabel("Sequence length" if below else "")
        axes.set_ylabel("Accuracy (%)" if number % columns == 0 else "")
    draw_legend(figure, entries, "outside right upper" if single else "outside upper center")
    counts = seeds_note(drawn if statistic == "mean" else runs).replace("cell", "line")
    caption(figure, f"{CAPTIONS[statistic]} {counts}\n{' '.join(notes + alike_note(runs))}")
    return figure


def curve(runs: pl.DataFrame, points: pl.DataFrame) -> Line:
    """Returns the mean over runs at each length; for a single run, the run itself."""
    own = points.filter(pl.col("run").is_in(runs["run"].implode()))
    table = own.group_by("length").agg(
        pl.col("accuracy").mean().alias("mean"),
        pl.col("accuracy").std().fill_null(0.0).alias("spread"),
        pl.len().alias("runs"),
    )
    # Runs may be tested at different lengths; a mean over other runs at every length would jump.
    table = table.filter(pl.col("runs") == len(runs)).sort("length")
    return Line(
        *(table[name].to_numpy().astype(np.float64) for name in ("length", "mean", "spread"))
    )


def _panel(
    axes: Axes, task: str, runs: pl.DataFrame, points: pl.DataFrame, statistic: Statistic
) -> None:
    seen, longest = runs["training_length"].item(0), runs["test_length"].item(0)
    axes.axvspan(0, seen, color="#f2f2f2", zorder=0)
    axes.axvline(seen, color=GUIDE, linestyle="--", linewidth=0.9, gid="training")
    chance_line(axes, task)
    names = [name for stack in stacks(set(runs["encoding"])) for name in stack]
    # Plain encodings first, so that they never cover a randomized one.
    names.sort(key=lambda name: name.startswith("randomized"))
    for number, name in enumerate(names):
        x, y, spread = curve(runs.filter(pl.col("encoding") == name), points)
        style = line_style(name)
        # Few markers, at other places on every line, so that they do not cover each other.
        every = max(1, len(x) // 5)
        axes.plot(x, y, **style, gid=name, markevery=(number * every // len(names), every))
        if statistic == "mean" and spread.any():
            axes.fill_between(x, y - spread, y + spread, color=style["color"], alpha=0.15, lw=0)
    axes.set_title(task_title(task))
    axes.set_xlim(0, longest)
    axes.set_ylim(0, 1.04)
    axes.yaxis.set_major_formatter(percent)

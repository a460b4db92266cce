"""Accuracy over length: one panel per task, one line per encoding (appendix B.2)."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from randpos.errors import UserError
from randpos.paper.looks import task_order
from randpos.results.figures.budgets import budget_line
from randpos.results.figures.legend import draw_legend, legend_rows
from randpos.results.figures.palette import GUIDE, stacks, task_title
from randpos.results.figures.style import (
    WIDTH,
    caption,
    chance_line,
    hide_unused,
    line_style,
    percent,
    styled,
)
from randpos.results.selection import best_runs, comparable, scores, tested
from randpos.store.tables import StoreTables

Statistic = Literal["best", "mean"]
SAID = {
    "best": "Lines: the run with the best score (the mean over lengths beyond N) of all seeds and "
    "learning rates.",
    "mean": "Lines: the mean over seeds at the learning rate with the best mean score; bands: one "
    "standard deviation.",
}


class Line(NamedTuple):
    """What one line of a panel shows."""

    lengths: Float[np.ndarray, " length"]
    accuracies: Float[np.ndarray, " length"]
    spread: Float[np.ndarray, " length"]
    """The standard deviation over seeds; 0 of a single run."""


@styled
def curves(
    records: StoreTables,
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
    drawn = shown(chosen, statistic)
    points = records.accuracies.filter(pl.col("run").is_in(drawn["run"].implode()))
    points = tested(records._replace(accuracies=points))
    order = task_order(set(chosen["task"]))

    single = len(order) == 1
    columns = {1: 1, 2: 2, 4: 2}.get(len(order), 3)
    rows = math.ceil(len(order) / columns)
    entries = legend_rows(set(chosen["encoding"]), single)
    beside, above = max(3.6, 0.16 * len(entries) + 0.7), 1.45 * rows + 0.15 * len(entries) + 0.9
    figure = Figure(figsize=(WIDTH, beside if single else above), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    panels: list[Axes] = list(grid.flat)
    hide_unused(panels, len(order))
    for number, (axes, task) in enumerate(zip(panels, order, strict=False)):
        _panel(axes, task, drawn.filter(task=task), points, statistic)
        below = number + columns >= len(order)
        axes.set_xlabel("Sequence length" if below else "")
        axes.set_ylabel("Accuracy (%)" if number % columns == 0 else "")
    draw_legend(figure, entries, "outside right upper" if single else "outside upper center")
    caption(figure, f"{SAID[statistic]}\n{budget_line(chosen, points)}{_others(runs, chosen)}")
    return figure


def _others(runs: pl.DataFrame, chosen: pl.DataFrame) -> str:
    """Says how many runs stay out because they were trained or tested in another way."""
    count = runs.filter(status="complete").height - chosen.height
    if count == 0:
        return ""
    return f" {count:,} other {'run' if count == 1 else 'runs'} of the store not shown."


def shown(runs: pl.DataFrame, statistic: Statistic) -> pl.DataFrame:
    """Keeps the runs that enter the lines: of each task and encoding, the best or the best rate's.

    Args:
        runs: Runs with their scores.
        statistic: Which line is drawn.
    """
    group = ["task", "encoding"]
    if statistic == "best":
        return best_runs(runs, group)
    rates = runs.group_by(*group, "learning_rate").agg(pl.col("score").mean())
    # Rounded as in the tables: the last bits of a mean must not decide between equal rates.
    order = [*group, pl.col("score").round(12), "learning_rate"]
    rates = rates.sort(order, descending=[False, False, True, False])
    best = rates.unique(group, keep="first", maintain_order=True).drop("score")
    return runs.join(best, on=[*group, "learning_rate"], how="semi")


def curve(runs: pl.DataFrame, points: pl.DataFrame) -> Line:
    """Returns the mean over runs at each length, which of a single run is the run itself."""
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
    # Plain encodings first, so that a randomized one is never hidden under them.
    names.sort(key=lambda name: name.startswith("randomized"))
    for number, name in enumerate(names):
        x, y, spread = curve(runs.filter(encoding=name), points)
        style = line_style(name)
        # Few markers, at other places on every line, so that they do not cover each other.
        every = max(1, len(x) // 5)
        axes.plot(x, y, **style, gid=name, markevery=(number * every // len(names), every))
        if statistic == "mean":
            axes.fill_between(x, y - spread, y + spread, color=style["color"], alpha=0.15, lw=0)
    axes.set_title(task_title(task))
    axes.set_xlim(0, longest)
    axes.set_ylim(0, 1.04)
    axes.yaxis.set_major_formatter(percent)

"""Accuracy over length: one panel per task, one line per encoding (appendix B.2)."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from randpos.errors import UserError
from randpos.paper.looks import encoding_label, stacks, task_label, task_order, task_title
from randpos.results.curves import curves_over_length
from randpos.results.figures.legend import draw_legend, legend_rows
from randpos.results.figures.style import (
    BETWEEN,
    GUIDE,
    WIDTH,
    caption,
    chance_line,
    hide_unused,
    line_style,
    percent,
    styled,
    tasks_note,
)
from randpos.results.scores import best_rates, best_runs, counted_runs, score_runs
from randpos.results.selection import alike_note, like_with_like, seeds_note, select
from randpos.store.tables import StoreTables

Statistic = Literal["best", "mean"]
CAPTIONS = {
    "best": "The run with the best score (the mean over lengths beyond N) over seeds and "
    "learning rates.",
    "mean": "Mean over seeds at the learning rate with the best mean score; bands: one standard "
    "deviation over seeds.",
}
MOST_MARKERS = 40
"""Measured lengths that all get a marker; of more, some do."""
SAME = 0.005
"""Curves that differ by less than this at every length look the same."""


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
    notes: Sequence[str] = (),
) -> Figure:
    """Draws accuracy over length for all encodings, with the training range and chance marked.

    Args:
        records: A store's records; of several budgets that of the most cells is drawn.
        tasks: Which tasks, by default all that have been tested; one panel each.
        encodings: Which encodings, by default all that have been tested.
        statistic: The `mean` over seeds, or the `best` run as in the paper's Table 1.
        notes: What the caption says first.
    """
    scored = score_runs(records)
    if tasks:
        scored = scored.filter(pl.col("task").is_in(list(tasks)))
    if encodings:
        scored = scored.filter(pl.col("encoding").is_in(list(encodings)))
    chosen, about = select(scored, scored.filter(pl.col("score").is_not_null()), None)
    runs = like_with_like(counted_runs(chosen), ["encoding"], ["task"])
    if runs.is_empty():
        wanted = " of " + ", ".join([*tasks, *encodings]) if tasks or encodings else ""
        raise UserError(
            f"No trained and tested run{wanted} is there to draw curves of; "
            "run randpos reproduce curves first."
        )
    pick = best_runs if statistic == "best" else best_rates
    drawn = pick(runs, ["task", "encoding"])
    lines = curves_over_length(records, drawn)
    order = task_order(set(drawn["task"]))

    single = len(order) == 1
    columns = {1: 1, 2: 2, 4: 2}.get(len(order), 3)
    rows = math.ceil(len(order) / columns)
    gaps = lines.select((pl.col("length").diff().over("task", "encoding") > 1).any())
    entries = legend_rows(
        set(drawn["encoding"]),
        single,
        sparse=gaps.item(),
        bands=bool((lines["spread"] > 0).any()),
        tasks=order,
    )
    beside, above = max(3.0, 0.16 * len(entries) + 0.7), 1.45 * rows + 0.15 * len(entries) + 0.3
    figure = Figure(figsize=(WIDTH, beside if single else above), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    panels: list[Axes] = list(grid.flat)
    hide_unused(panels, len(order))
    for number, (axes, task) in enumerate(zip(panels, order, strict=False)):
        _panel(axes, task, drawn.filter(pl.col("task") == task), lines.filter(task=task))
        below = number + columns >= len(order)
        axes.set_xlabel("Sequence length" if below else "")
        axes.set_ylabel("Accuracy (%)" if number % columns == 0 else "")
    draw_legend(figure, entries, "outside right upper" if single else "outside upper center")
    counts = seeds_note(drawn if statistic == "mean" else runs).replace("cell", "line")
    caption(
        figure,
        *(*notes, CAPTIONS[statistic], counts, *_same_lines(lines, order), *tasks_note(order)),
        *(*about, *alike_note(runs)),
    )
    return figure


def _panel(axes: Axes, task: str, runs: pl.DataFrame, lines: pl.DataFrame) -> None:
    seen, longest = runs["training_length"].item(0), runs["test_length"].item(0)
    axes.axvspan(0, seen, color="#f2f2f2", zorder=0)
    axes.axvline(seen, color=GUIDE, linestyle="--", linewidth=0.9, gid="training")
    chance_line(axes, task)
    names = [name for stack in stacks(set(runs["encoding"])) for name in stack]
    # Plain encodings first, so that they never cover a randomized one.
    names.sort(key=lambda name: name.startswith("randomized"))
    for name in names:
        x, y, spread = (
            lines.filter(encoding=name)[column].to_numpy().astype(np.float64)
            for column in ("length", "mean", "spread")
        )
        _line(axes, name, x, y)
        if spread.any():
            color = line_style(name)["color"]
            axes.fill_between(x, y - spread, y + spread, color=color, alpha=0.15, lw=0)
    axes.set_title(task_title(task))
    axes.set_xlim(0, longest)
    axes.set_ylim(0, 1.04)
    axes.yaxis.set_major_formatter(percent)


def _line(axes: Axes, name: str, x: np.ndarray, y: np.ndarray) -> None:
    """Draws markers at measured lengths, a line along neighbouring ones, thin dashes between."""
    style = line_style(name)
    color, line = style["color"], style.pop("linestyle")
    gaps = np.flatnonzero(np.diff(x) > 1) + 1
    if len(gaps):
        axes.plot(x, y, color=color, gid=f"between {name}", **BETWEEN)
    if len(gaps) < len(x) - 1:
        parts = np.insert(x, gaps, np.nan), np.insert(y, gaps, np.nan)
        axes.plot(*parts, color=color, linestyle=line, gid=f"along {name}")
    every = math.ceil(len(x) / MOST_MARKERS)
    axes.plot(x, y, **style, linestyle="", markevery=every, clip_on=False, gid=name)


def _same_lines(lines: pl.DataFrame, tasks: Sequence[str]) -> list[str]:
    """Names the encodings of each task whose curves coincide."""
    notes = []
    for task in tasks:
        found = lines.filter(task=task).partition_by("encoding", as_dict=True)
        names = [name for stack in stacks(str(key[0]) for key in found) for name in stack]
        groups: list[list[str]] = []
        for name in names:
            for group in groups:
                if _alike(found[(group[0],)], found[(name,)]):
                    group.append(name)
                    break
            else:
                groups.append([name])
        words = [" = ".join(map(encoding_label, group)) for group in groups if len(group) > 1]
        if words:
            notes.append(f"{task_label(task)}: {', '.join(words)}")
    return [f"Curves that coincide: {'; '.join(notes)}."] if notes else []


def _alike(left: pl.DataFrame, right: pl.DataFrame) -> bool:
    if not left["length"].equals(right["length"]):
        return False
    return bool(((left["mean"] - right["mean"]).abs() < SAME).all())

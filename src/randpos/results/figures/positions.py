"""The score over the maximum position L (appendix B.1)."""

import math
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from randpos import facts
from randpos.errors import UserError
from randpos.paper.looks import look, task_order, task_title
from randpos.results.figures.style import (
    EVERY_RUN,
    WIDTH,
    caption,
    chance_line,
    hide_unused,
    line_style,
    percent,
    sample_chance,
    styled,
    tasks_note,
)
from randpos.results.scores import best_runs, score_runs
from randpos.results.tables.sweeps import compared, swept_over_maximum
from randpos.store.tables import StoreTables


def max_position_of_store(records: StoreTables, store: Path) -> Figure:
    """Draws the figure of a store's runs of randomized relative."""
    return max_position(records)


@styled
def max_position(records: StoreTables, encoding: str = "randomized-relative") -> Figure:
    """Draws the best score over L, with a dot for every run, for each task that has several L."""
    scored = score_runs(records).filter(pl.col("encoding") == encoding)
    runs, notes = compared(scored, swept_over_maximum(scored), ["maximum"], None)
    if runs.is_empty():
        raise UserError(
            f"No task has trained and tested runs of {encoding} with several values of L; "
            "run randpos reproduce max-position first."
        )
    order = task_order(set(runs["task"]))
    columns = min(3, len(order))
    rows = math.ceil(len(order) / columns)
    wide = {1: 4.2, 2: 6.2}.get(columns, WIDTH)
    figure = Figure(figsize=(wide, 2.1 * rows + 0.4), layout="constrained")
    panels: list[Axes] = list(figure.subplots(rows, columns, squeeze=False, sharey=True).flat)
    hide_unused(panels, len(order))
    for number, (axes, task) in enumerate(zip(panels, order, strict=False)):
        _panel(axes, task, encoding, runs.filter(pl.col("task") == task))
        # Next to others there is no room for a long title.
        between = ", " if len(order) == 1 else "\n"
        axes.set_title(f"{task_title(task)}{between}{look(encoding).label}")
        axes.set_ylabel("Score (%)" if number % columns == 0 else "")
    if any(task in facts.tasks() for task in order):
        figure.legend(handles=[sample_chance()], loc="outside upper right")
    remark = "Score: mean accuracy over lengths N+1 to M. Line: the best run; dots: every run."
    caption(figure, remark, *notes, *tasks_note(order))
    return figure


def _panel(axes: Axes, task: str, encoding: str, runs: pl.DataFrame) -> None:
    best = best_runs(runs, ["maximum"]).sort("maximum")
    style = line_style(encoding)
    style["markersize"] = 5.0
    x = best["maximum"].to_numpy()
    chance_line(axes, task)
    dots = runs["maximum"].to_numpy(), runs["score"].to_numpy()
    axes.plot(*dots, color=style["color"], **EVERY_RUN)
    axes.plot(x, best["score"].to_numpy(), **style, gid="best")
    axes.set_xscale("log", base=2)
    axes.set_xticks(x, [f"{value:,}" for value in x])
    axes.minorticks_off()
    axes.margins(x=0.08)
    axes.set_ylim(0, 1.04)
    axes.yaxis.set_major_formatter(percent)
    axes.set_xlabel("Maximum position L")

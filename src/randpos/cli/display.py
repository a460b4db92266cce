"""What the command line shows: tables, progress, and accuracy over length drawn with characters."""

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from randpos.store.result import Accuracy
from randpos.training.loop import Progress as Report

Format = Literal["text", "json"]
MARKS = "●○◆◇▲△■□"


def show(rows: Sequence[Mapping[str, Any]], form: Format, title: str = "") -> None:
    """Prints rows as a table or as JSON."""
    if form == "json":
        print(json.dumps(list(rows), indent=1, ensure_ascii=False))
        return
    table = Table(title=title or None, title_justify="left", header_style="bold")
    for name in rows[0] if rows else ():
        number = isinstance(rows[0][name], int | float) and not isinstance(rows[0][name], bool)
        table.add_column(name.replace("_", " "), justify="right" if number else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _cell(value: Any) -> str | Text:
    if isinstance(value, str):  # which may come from anywhere: no markup, no terminal commands
        return Text("".join(c if c.isprintable() or c == "\n" else "�" for c in value))
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"
    return "" if value is None else str(value)


def percent(value: float | None) -> str:
    """Writes a share as the paper does; a missing one as a dash.

    >>> percent(0.9514), percent(None)
    ('95.1', '–')
    """
    return "–" if value is None else f"{100 * value:.1f}"


def plot(
    curves: Mapping[str, Sequence[Accuracy]],
    training_length: int,
    chance: float | None,
    width: int = 64,
    height: int = 11,
) -> str:
    """Draws accuracy over length; a bar marks the training length, dots the level of chance."""
    longest = max((point.length for curve in curves.values() for point in curve), default=1)
    grid = [[" "] * width for _ in range(height)]

    def column(length: int) -> int:
        return round((length - 1) / max(1, longest - 1) * (width - 1))

    def line(accuracy: float) -> int:
        return height - 1 - round(accuracy * (height - 1))

    if chance is not None:
        grid[line(chance)] = ["·"] * width
    if training_length <= longest:
        for row in grid:
            row[column(training_length)] = "│"
    for mark, curve in zip(MARKS * len(curves), curves.values(), strict=False):
        for point in curve:
            grid[line(point.accuracy)][column(point.length)] = mark
    labels = {0: "100 %", height // 2: " 50 %", height - 1: "  0 %"}
    lines = [f"{labels.get(i, ''):>6} {''.join(row)}" for i, row in enumerate(grid)]
    axis = [" "] * (width + 7)
    for length in sorted({1, min(training_length, longest), longest}):
        text = str(length)
        start = min(7 + column(length), len(axis) - len(text))
        axis[start : start + len(text)] = text
    legend = [f"{mark} {name}" for mark, name in zip(MARKS * len(curves), curves, strict=False)]
    note = f"│ longest training length N={training_length}"
    if chance is not None:
        note += f"   · chance {100 * chance:.0f} %"
    return "\n".join([*lines, "".join(axis) + "  length", "       " + "   ".join([*legend, note])])


class TrainingView:
    """Progress of all members: a bar for each on a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console, every: float = 10.0) -> None:
        self.console, self.every = console, every
        self.last: dict[int, float] = {}
        self.bars: dict[int, TaskID] = {}
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:,}/{task.total:,}"),
            TextColumn("{task.fields[status]}"),
            TimeRemainingColumn(),
            console=console,
        )

    def __enter__(self) -> "TrainingView":
        if self.console.is_terminal:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self.progress.stop()

    def __call__(self, report: Report) -> None:
        """Shows a member's progress."""
        steps, now = report.experiment.steps, time.monotonic()
        speed = report.step / report.seconds if report.seconds else 0.0
        name = f"seed {report.experiment.seed}, rate {report.experiment.learning_rate:g}"
        status = f"{speed:.1f} steps/s  loss {report.loss:.4f}  accuracy {percent(report.accuracy)}"
        if self.console.is_terminal:
            if report.member not in self.bars:
                self.bars[report.member] = self.progress.add_task(name, total=steps, status="")
            bar = self.bars[report.member]
            self.progress.update(bar, completed=report.step, status=status)
        elif report.step == steps or now - self.last.get(report.member, -math.inf) > self.every:
            self.last[report.member] = now
            left = (steps - report.step) / speed if speed else 0.0
            line = f"{name}: step {report.step:,}/{steps:,}  {status}  {left:.0f} s left"
            self.console.print(line, highlight=False, soft_wrap=True)

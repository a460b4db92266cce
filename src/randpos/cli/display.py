"""What the command line prints: tables, JSON, and accuracy over length drawn with characters."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from randpos.store.result import Accuracy, percent

Column = tuple[list[str], bool]
"""The heading and the cells of a column, and whether they are numbers."""
Format = Literal["text", "json"]
SHORT = 12
"""Letters of a word that is never divided, however narrow the terminal is."""
MARKS = "●○◆◇▲△■□"


def show(rows: Sequence[Mapping[str, Any]], form: Format, title: str = "") -> None:
    """Prints rows as a table that fits the terminal, or as JSON."""
    if form == "json":
        print(json.dumps(list(rows), indent=1, ensure_ascii=False))
        return
    console = Console(width=None if sys.stdout.isatty() else 160)
    if title:  # Not the table's own: a narrow table would wrap it.
        console.print(Text(title, style="italic"))
    if not rows:
        return
    names = list(rows[0])
    texts = [[name.replace("_", " "), *(_cell(row[name]) for row in rows)] for name in names]
    numbers = [isinstance(x, int | float) and not isinstance(x, bool) for x in rows[0].values()]
    columns = list(zip(texts, numbers, strict=True))
    widths = [max(map(cell_len, column)) for column in texts]
    one_line = not any("\n" in text for column in texts for text in column)
    if one_line and sum(widths) + 2 * len(names) <= console.width:
        _print_lines(console, columns, widths)
    else:
        console.print(_wrapped(columns, console.width))


def _print_lines(console: Console, columns: Sequence[Column], widths: Sequence[int]) -> None:
    """Prints a table that needs no wrapping, many times as fast as rich does."""
    padded = [
        [
            " " * pad + text if number else text + " " * pad
            for text in column
            for pad in [width - cell_len(text)]
        ]
        for (column, number), width in zip(columns, widths, strict=True)
    ]
    heading, *lines = ("  ".join(cells) for cells in zip(*padded, strict=True))
    console.print(Text(heading, style="bold"))
    print("─" * cell_len(heading))
    print(*(line.rstrip() for line in lines), sep="\n")


def _wrapped(columns: Sequence[Column], width: int) -> Table:
    """Returns a table whose cells are divided where they do not fit."""
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    words = [
        max(len(word) for text in column for word in text.split() or [""]) for column, _ in columns
    ]
    # Short words are divided last: an ellipsis would hide their ends.
    tight = sum(words) + 2 * len(columns) > width
    for (column, number), longest in zip(columns, words, strict=True):
        table.add_column(
            column[0],
            justify="right" if number else "left",
            overflow="fold",
            min_width=None if tight and longest > SHORT else longest,
        )
    for cells in zip(*(column[1:] for column, _ in columns), strict=True):
        table.add_row(*map(Text, cells))
    return table


def show_lengths(curve: Sequence[Accuracy], title: str) -> None:
    """Prints accuracies at about a dozen lengths; those with teacher forcing only of decoders.

    Where answers do not depend on the input, a column says so.
    """
    forced = any(point.forced is not None for point in curve)
    constant = any(point.constant for point in curve)
    rows = [
        {
            "length": point.length,
            "accuracy %": percent(point.accuracy),
            "whole %": percent(point.whole),
        }
        | ({"teacher-forced %": percent(point.forced)} if forced else {})
        | ({"constant answer": bool(point.constant)} if constant else {})
        for point in curve
    ]
    show(rows[:: max(1, len(rows) // 12)], "text", title)


def _cell(value: Any) -> str:
    if isinstance(value, str):  # possibly from a stored file: no terminal commands
        return "".join(c if c.isprintable() or c == "\n" else "�" for c in value)
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"
    return "" if value is None else str(value)


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

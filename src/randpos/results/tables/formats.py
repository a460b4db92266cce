"""A table as Markdown, LaTeX, CSV or text: our numbers, the paper's and the difference."""

import csv
import io
import unicodedata
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Literal, get_args

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from randpos.errors import unknown
from randpos.results.tables.latex import latex
from randpos.results.tables.table import MISSING, Row, Table, Value, View

Format = Literal["markdown", "latex", "csv", "text"]
HEADINGS: dict[View, str] = {
    "ours": "Ours",
    "in_domain": "Ours, in-domain (lengths 1 to N)",
    "whole": "Ours, whole sequences: all counted tokens right",
    "forced": "Ours, teacher-forced: the model reads the right answers",
    "seeds": "Ours, seeds (× rates) of each number",
    "paper": "Paper",
    "difference": "Difference (ours − paper)",
}


def render(table: Table, form: str, width: int = 400) -> str:
    """Writes a table in a format: `markdown`, `latex`, `csv` or `text`.

    Args:
        table: The table.
        form: The format.
        width: Letters in a line of text; columns that do not fit follow below the others.
    """
    if form not in get_args(Format):
        raise unknown("format", form, get_args(Format))
    return _text(table, width) if form == "text" else _WRITERS[form](table)


def printable(text: str) -> str:
    """Replaces control characters: names of tasks may come from a user's file."""
    return "".join("\ufffd" if unicodedata.category(c)[0] == "C" else c for c in text)


def legend(table: Table) -> list[str]:
    """Returns the notes of a table and the meaning of its signs."""
    signs = [f"{MISSING} not run, or not in the paper."]
    if any(row.dagger for row in table.rows):
        signs.append("† permutation-invariant: can be solved without positions.")
    if any("★" in column.label for column in table.columns):
        signs.append("★ label-based encodings (Li and McClelland, 2022).")
    return [*table.notes, " ".join(signs)]


def _label(row: Row) -> str:
    return printable(row.label) + ("†" if row.dagger else "")


def _headings(table: Table) -> list[str]:
    labels = []
    for column in table.columns:
        randomized = column.group.startswith("Randomized") and table.columns != [column]
        start = f"{column.group.partition(' (')[0]} " if randomized else ""
        if column.group in ("Max", "Mean ± SD"):
            start = f"{column.group}: "
        labels.append(printable(start + column.label))
    return labels


def _markdown(table: Table) -> str:
    def escape(text: str) -> str:
        for sign in "\\`*_[]<>|":
            text = text.replace(sign, f"\\{sign}")
        return text.replace("&", "&amp;")

    # The name is the heading; what the numbers are is a sentence below it.
    name, _, about = escape(table.title).partition(". ")
    lines = [f"### {name}", "", *([f"{about}.", ""] if about else [])]
    for view in table.views():
        heads = ["Level", "Task", *map(escape, _headings(table))]
        lines += [f"**{HEADINGS[view]}**", "", f"| {' | '.join(heads)} |"]
        lines.append("|" + " --- |" * 2 + " ---: |" * len(table.columns))
        for row in table.rows:
            texts = [row.level, escape(_label(row))]
            for column in table.columns:
                text = table.text(row, column, view)
                best = table.is_best(row, column, view)
                texts.append(f"**{text}**" if best else text)
            lines.append(f"| {' | '.join(texts)} |")
        lines.append("")
    return "\n".join([*lines, *(f"{escape(note)}  " for note in legend(table))]) + "\n"


def _csv(table: Table) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    names = ["", "_sd", "_low", "_high", "_error", "_in_domain", "_whole", "_forced"]
    ours, paper = ([f"{side}{name}" for name in names] for side in ("ours", "paper"))
    more = ["difference", "seeds", "rates", "unit", "over", "note"]
    writer.writerow(["table", "level", "task", "column", *ours, *paper[:4], *more])
    for row in table.rows:
        for column, head in zip(table.columns, _headings(table), strict=True):
            cell = table.cell(row, column)
            line = [table.name, row.level, _label(row), head]
            line += _numbers(cell.ours, table.digits)
            line += _numbers(cell.paper, table.digits)[:4]
            line.append(_number(cell.difference, table.digits))
            seeds = cell.ours.seeds if cell.ours else None
            line += ["", ""] if seeds is None else [str(seeds), str(cell.ours and cell.ours.rates)]
            line += [table.unit, cell.ours.detail if cell.ours else "not run", table.notes[0]]
            writer.writerow([_cell(text) for text in line])
    return buffer.getvalue()


def _numbers(value: Value | None, digits: int) -> list[str]:
    """Writes value, sd, ends of the interval, error, in-domain, whole and teacher-forced."""
    if value is None:
        return [""] * 8
    numbers = [value.value, value.sd, *(value.interval or (None, None)), value.error]
    shares = " / ".join(_number(share, digits) for share in value.in_domain)
    decoder = value.whole, value.forced
    return [
        *(_number(number, digits) for number in numbers),
        shares,
        *(_number(number, digits) for number in decoder),
    ]


def _number(number: float | None, digits: int) -> str:
    return "" if number is None else f"{number:.{digits + 3}f}"


def _cell(text: str) -> str:
    """Quotes names that a spreadsheet would read as a formula."""
    risky = text[:1] in ("=", "+", "-", "@") and not text[1:2].isdigit()
    return f"'{text}" if risky else text


def _text(table: Table, width: int) -> str:
    buffer = io.StringIO()
    # Wide enough for any table: columns are divided here, and Rich wraps nothing.
    console = Console(file=buffer, width=400, color_system=None)
    console.print(Text(table.title))
    for view in table.views():
        left = list(range(len(table.columns)))
        while left:
            fitting = len(left)
            while fitting > 1:
                shown = _text_block(table, view, left[:fitting])
                if console.measure(shown).maximum <= width:
                    break
                fitting -= 1
            console.print(_text_block(table, view, left[:fitting]))
            left = left[fitting:]
    notes = [*legend(table), *(["* best of its row."] if table.best else [])]
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    return "\n".join([*lines, *map(printable, notes)]) + "\n"


def _text_block(table: Table, view: View, columns: Sequence[int]) -> RichTable:
    """Returns some columns of a view."""
    shown = RichTable(title=HEADINGS[view], title_justify="left", box=box.SIMPLE_HEAD)
    shown.add_column("level")
    shown.add_column("task", no_wrap=True)
    heads = _headings(table)
    for number in columns:
        shown.add_column(Text("\n".join(heads[number].split(" ", 1))), justify="right")
    for level, rows in groupby(table.rows, key=lambda row: row.level):
        for row in rows:
            texts = [Text(level), Text(_label(row))]
            for column in (table.columns[number] for number in columns):
                mark = "*" if table.is_best(row, column, view) else " "
                texts.append(Text(table.text(row, column, view) + mark * table.best))
            shown.add_row(*texts)
        shown.add_section()
    return shown


_WRITERS: dict[str, Callable[[Table], str]] = {
    "markdown": _markdown,
    "latex": latex,
    "csv": _csv,
}

"""The shape of all tables: rows of tasks, columns of encodings, our values beside the paper's."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

View = Literal["ours", "in_domain", "whole", "forced", "seeds", "paper", "difference"]
VIEWS: tuple[View, ...] = get_args(View)
BEST_IN: tuple[View, ...] = ("ours", "paper")
"""The views that mark the best of a row."""
MISSING = "–"


@dataclass(frozen=True)
class Value:
    """A number of a cell, its spread, and the seeds and rates that it summarizes."""

    value: float
    sd: float | None = None
    interval: tuple[float, float] | None = None
    in_domain: tuple[float, ...] = ()
    """Accuracy over the training lengths in %; of a difference, that of both sides."""
    whole: float | None = None
    """Of decoders: the share of whole sequences that were right, in %."""
    forced: float | None = None
    """Of decoders: the accuracy with teacher forcing, in %."""
    seeds: int | None = None
    rates: int = 1
    """Numbers of seeds and learning rates that the number summarizes."""
    error: float | None = None
    """Standard error of the test: of the examples and draws, not of the training."""
    alike: bool = True
    """Whether its row shares seeds and rates, so that the best of it may be marked."""
    shared: float | None = None
    """The same number over the seeds and rates that all cells of its row have."""
    detail: str = ""
    """Describes in words what the number summarizes, for tooltips and CSV."""
    run: str | None = None
    """The run that it comes from, if it comes from one."""

    @property
    def compared(self) -> float:
        """The number by which the best of a row is found."""
        return self.value if self.shared is None else self.shared


@dataclass(frozen=True)
class Cell:
    """Our value and the paper's; None is 'not run', or 'not in the paper'."""

    ours: Value | None = None
    paper: Value | None = None

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return self.ours.value - self.paper.value if self.ours and self.paper else None

    def number(self, view: View) -> float | None:
        """The number that a view shows, for sorting and for finding the best."""
        if view == "difference":
            return self.difference
        if view == "paper":
            return self.paper.value if self.paper else None
        if self.ours is None or view == "ours":
            return self.ours and self.ours.value
        if view == "seeds":
            return self.ours.seeds and self.ours.seeds * self.ours.rates
        if view == "whole":
            return self.ours.whole
        if view == "forced":
            return self.ours.forced
        return self.ours.in_domain[0] if self.ours.in_domain else None


@dataclass(frozen=True)
class Column:
    """A column; neighbours with the same `group` share a heading above theirs."""

    key: str
    label: str
    group: str = ""
    signed: bool = False
    """Whether its numbers are differences, and show their sign, unlike other columns."""


@dataclass(frozen=True)
class Row:
    """A row; `dagger` marks tasks that can be solved without positions."""

    key: str
    label: str
    level: str = ""
    dagger: bool = False
    chance: float | None = None
    """The accuracy of a guess in %, where that is known."""


@dataclass(frozen=True)
class Table:
    """A table, ready to be rendered in any format."""

    name: str
    title: str
    unit: str
    columns: list[Column]
    rows: list[Row]
    cells: dict[tuple[str, str], Cell]
    """By the keys of row and column; a missing one was not run and is not in the paper."""
    notes: list[str] = field(default_factory=list)
    """The budget first."""
    digits: int = 1
    best: bool = True
    """Whether the best of a row is marked."""
    blocks: tuple[tuple[str, ...], ...] = ()
    """Columns among which the best is sought; all of them by default."""
    signed: bool = False
    """Whether the numbers are differences, and show their sign."""
    chosen: tuple[View, ...] = ()
    """The views to show; all that show something by default."""

    def cell(self, row: Row, column: Column) -> Cell:
        """Returns a cell; an empty one where nothing is known."""
        return self.cells.get((row.key, column.key), Cell())

    def measured(self) -> "Table":
        """Returns the table without rows and columns in which we have no number.

        A table in which we have no number at all is returned whole.
        """
        rows = [row for row in self.rows if any(self.cell(row, c).ours for c in self.columns)]
        columns = [c for c in self.columns if any(self.cell(row, c).ours for row in rows)]
        return replace(self, rows=rows, columns=columns) if rows and columns else self

    def views(self) -> list[View]:
        """The chosen views, or those that show something: ours, and seeds where they differ."""
        cells = [self.cell(row, column) for row in self.rows for column in self.columns]
        found: list[View] = []
        for view in self.chosen or VIEWS:
            numbers = {cell.number(view) for cell in cells} - {None}
            if view == "ours" or self.chosen or len(numbers) > (view == "seeds"):
                found.append(view)
        return found

    def text(self, row: Row, column: Column, view: View) -> str:
        """Writes a cell as the paper does; a dash where there is nothing."""
        cell = self.cell(row, column)
        number = cell.number(view)
        if number is None:
            return MISSING
        if view == "difference":
            return signed(number, self.digits)
        shown = cell.paper if view == "paper" else cell.ours
        assert shown is not None
        if view == "in_domain":
            return " / ".join(plain(share, self.digits) for share in shown.in_domain)
        if view in ("whole", "forced"):
            return plain(number, self.digits)
        if view == "seeds":
            return f"{shown.seeds}×{shown.rates}" if shown.rates > 1 else f"{shown.seeds}"
        write: Callable[[float, int], str] = signed if self.signed or column.signed else plain
        words = write(number, self.digits)
        if shown.sd is not None:
            words += f"±{plain(shown.sd, self.digits)}"
        if shown.interval:
            low, high = (write(end, self.digits) for end in shown.interval)
            words += f" [{low}, {high}]"
        return words

    def is_best(self, row: Row, column: Column, view: View) -> bool:
        """Whether the cell is the best of its row, to the printed precision; ties all are.

        Ours are compared over the seeds and rates that all cells of the row have.
        """
        return column.key in self._best.get((row.key, view), ())

    @cached_property
    def _best(self) -> dict[tuple[str, View], set[str]]:
        """The keys of the best columns, by the key of the row and the view."""
        if not self.best:
            return {}
        known = {key for block in self.blocks for key in block}
        rest = tuple(c.key for c in self.columns if c.key not in known)
        best: dict[tuple[str, View], set[str]] = {}
        for row in self.rows:
            for view in BEST_IN:
                blocks = [self._best_of(row, block, view) for block in (*self.blocks, rest)]
                best[row.key, view] = set().union(*blocks)
        return best

    def _best_of(self, row: Row, block: tuple[str, ...], view: View) -> set[str]:
        shown = {c.key for c in self.columns}.intersection(block)
        cells = {key: self.cells[row.key, key] for key in shown if (row.key, key) in self.cells}
        values = {k: v for k, c in cells.items() if (v := c.paper if view == "paper" else c.ours)}
        if view == "ours":
            values = {key: value for key, value in values.items() if value.alike}
        rounded = {key: float(plain(v.compared, self.digits)) for key, v in values.items()}
        return {key for key, number in rounded.items() if number == max(rounded.values())}


def plain(number: float, digits: int) -> str:
    """Rounds a number to the printed precision, never to a negative zero.

    >>> plain(95.14, 1), plain(-0.01, 1)
    ('95.1', '0.0')
    """
    text = f"{number:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def signed(number: float, digits: int) -> str:
    """The same with a sign, but for zero.

    >>> signed(3, 1), signed(-0.04, 1)
    ('+3.0', '0.0')
    """
    text = plain(number, digits)
    return f"+{text}" if float(text) > 0 else text

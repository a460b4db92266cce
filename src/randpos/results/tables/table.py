"""One shape for all tables: rows of tasks, columns of encodings, our value beside the paper's."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

View = Literal["ours", "paper", "difference"]
VIEWS: tuple[View, ...] = get_args(View)
MISSING = "–"


@dataclass(frozen=True)
class Value:
    """A number of a cell, with its sd or its interval where it has one."""

    value: float
    sd: float | None = None
    interval: tuple[float, float] | None = None
    detail: str = ""
    """What the number is over, for whoever wants to know more."""
    run: str | None = None
    """The run that it comes from, if it comes from one."""


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
        shown = self.ours if view == "ours" else self.paper
        return shown.value if shown else None


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
    """By the keys of row and column; what is missing was not run and is not in the paper."""
    notes: list[str] = field(default_factory=list)
    """The budget first, then what else must be known to read the numbers."""
    digits: int = 1
    best: bool = True
    """Whether the best of a row is marked."""
    blocks: tuple[tuple[str, ...], ...] = ()
    """Columns among which the best is sought; all of them by default."""
    signed: bool = False
    """Whether the numbers are differences, and show their sign."""

    def cell(self, row: Row, column: Column) -> Cell:
        """Returns a cell; an empty one where nothing is known."""
        return self.cells.get((row.key, column.key), Cell())

    def views(self) -> list[View]:
        """The views that hold any number; always ours."""
        every = [(row, column) for row in self.rows for column in self.columns]
        return [
            view
            for view in VIEWS
            if view == "ours" or any(self.cell(*one).number(view) is not None for one in every)
        ]

    def text(self, row: Row, column: Column, view: View) -> str:
        """Writes a cell as the paper does; a dash where there is nothing."""
        cell = self.cell(row, column)
        number = cell.number(view)
        if number is None:
            return MISSING
        if view == "difference":
            return signed(number, self.digits)
        write: Callable[[float, int], str] = signed if self.signed or column.signed else plain
        words, shown = write(number, self.digits), cell.ours if view == "ours" else cell.paper
        if shown and shown.sd is not None:
            words += f"±{plain(shown.sd, self.digits)}"
        if shown and shown.interval:
            low, high = (write(end, self.digits) for end in shown.interval)
            words += f" [{low}, {high}]"
        return words

    def is_best(self, row: Row, column: Column, view: View) -> bool:
        """Whether the cell is the best of its row, to the printed precision; ties all are."""
        number = self.cell(row, column).number(view)
        if not self.best or view == "difference" or number is None:
            return False
        block = next((b for b in self.blocks if column.key in b), None)
        peers = [c for c in self.columns if block is None or c.key in block]
        numbers = [self.cell(row, peer).number(view) for peer in peers]
        rounded = [float(plain(n, self.digits)) for n in numbers if n is not None]
        return float(plain(number, self.digits)) == max(rounded)


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

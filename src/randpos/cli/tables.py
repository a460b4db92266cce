"""`randpos table`, and how tables are printed. Importing it does not load JAX."""

import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from randpos.paper.artifacts import tables
from randpos.results import make_table, render
from randpos.results.selection import count
from randpos.results.tables.table import Table, View
from randpos.store.tables import read_store


@dataclass(frozen=True)
class Tables:
    """Print a table of the paper with our numbers beside the published ones."""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(help=f"{', '.join(tables())}.")]
    store: Path = Path("runs")
    """The store."""
    show: tuple[View, ...] = ()
    """Only these views of the table; by default all that show something. CSV always has all."""
    all: bool = False
    """Print rows and columns that were not run, too; in other formats than text they always are."""
    format: Literal["text", "markdown", "latex", "csv"] = "text"
    """How it is printed."""

    def __call__(self) -> None:
        """Prints the table."""
        table = make_table(read_store(self.store), self.name)
        table = replace(table, chosen=self.show)
        if self.format == "text":
            show_table(table, self.all)
        else:
            print(render(table, self.format))


def show_table(table: Table, everything: bool = False) -> None:
    """Prints a table as wide as the terminal; columns that do not fit follow below the others.

    Args:
        table: The table.
        everything: Print rows and columns that were not run, too.
    """
    shown = table if everything else table.measured()
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 400
    print(render(shown, "text", width), end="")
    if shown is not table:
        rows, columns = len(table.rows) - len(shown.rows), len(table.columns) - len(shown.columns)
        if rows or columns:
            parts = [count(n, what) for n, what in ((rows, "row"), (columns, "column")) if n]
            print(f"Hidden, as not run: {' and '.join(parts)}. --all shows them.")

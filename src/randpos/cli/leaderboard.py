"""`randpos benchmark leaderboard`. Importing it does not load JAX."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import tyro

from randpos.errors import UserError
from randpos.results.leaderboard import leaderboard, markdown
from randpos.store.files import read_file, write_atomic
from randpos.store.tables import StoreTables, read_store

MARKS = ("<!-- leaderboard -->", "<!-- end of leaderboard -->")
"""The lines of a page that a leaderboard is written between."""


@dataclass(frozen=True)
class Leaderboard:
    """Print the models of stores by their mean score, as a Markdown table."""

    stores: tyro.conf.Positional[tuple[Path, ...]] = (Path("runs"),)
    """The stores."""
    out: Path | None = None
    """A Markdown file; the table goes between its lines <!-- leaderboard --> and
    <!-- end of leaderboard -->."""

    def __call__(self) -> None:
        """Prints the table, or writes it into the file."""
        stores = [read_store(path) for path in self.stores]
        joined = StoreTables(*(pl.concat(tables) for tables in zip(*stores, strict=True)))
        table = markdown(*leaderboard(joined))
        if self.out is None:
            print(table)
            return
        before, begin, rest = read_file(self.out).decode().partition(MARKS[0])
        _, end, after = rest.partition(MARKS[1])
        if not end:
            raise UserError(f"{self.out} needs the lines {MARKS[0]} and {MARKS[1]}.")
        write_atomic(self.out, f"{before}{begin}\n\n{table}\n\n{end}{after}".encode())
        print(self.out)

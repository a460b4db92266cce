"""A whole store as tables: one row per run, and one per run and measurement.

What a store's files and packed tables hold is checked while they are read, and nowhere else.
Damaged runs and files are left out with a warning that names them.
"""

import json
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple, get_args

import polars as pl

from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.store import accuracies, periodic_tests
from randpos.store.files import explained
from randpos.store.folder import Store
from randpos.store.packed import read_packed, write_packed
from randpos.store.result import Ending
from randpos.store.rows import RUNS, run_row

TABLES = {"accuracies": accuracies.MEASUREMENTS, "tests": periodic_tests.MEASUREMENTS}
"""The tables of measurements by name. A new one is an entry here and a field of `StoreTables`."""
SCHEMAS = {name: table.schema for name, table in TABLES.items()}
ACCURACIES = SCHEMAS["accuracies"]
"""A tested length of a run; the columns after `whole` say how it was tested."""


class StoreTables(NamedTuple):
    """The tables of a store."""

    runs: pl.DataFrame
    accuracies: pl.DataFrame
    tests: pl.DataFrame = pl.DataFrame(schema=SCHEMAS["tests"])
    """Tests during training: a step and a length of a run."""

    def experiment(self, run: str) -> Experiment:
        """Returns the experiment of a run."""
        row = self.runs.row(by_predicate=pl.col("run") == run, named=True)
        return Experiment.from_dict(json.loads(row["config"]))

    def with_runs(self, runs: pl.DataFrame) -> "StoreTables":
        """Keeps these runs and their measurements."""
        kept = pl.col("run").is_in(runs["run"].implode())
        return StoreTables(runs, *(table.filter(kept) for table in self[1:]))

    def only(self, **values: Collection[str]) -> "StoreTables":
        """Keeps the runs that have one of the values in a column; without values, all.

        Raises:
            UserError: No run has one of them.
        """
        runs = self.runs
        for column, wanted in values.items():
            for value in set(wanted).difference(runs[column]):
                raise UserError(f"The store has no runs of the {column} {value}.")
            if wanted:
                runs = runs.filter(pl.col(column).is_in(list(wanted)))
        return self.with_runs(runs)


def read_store(path: Path) -> StoreTables:
    """Reads all runs of a store, packed ones included."""
    if not path.is_dir():
        raise UserError(f"{path} is not a store of runs: there is no such folder.")
    with explained(path):
        folders = list(Store(path).runs())
    rows = []
    for folder in folders:
        try:
            rows.append(run_row(folder))
        except UserError as error:
            warnings.warn(f"left out: {error}", stacklevel=2)
    runs = pl.DataFrame(rows, schema=RUNS, orient="row")
    packed = read_packed(path, SCHEMAS)
    # A run that has ended here is newer than the packed one; an unfinished one is not.
    ended = runs.filter(pl.col("status").is_in(get_args(Ending)))["run"]
    kept = packed["runs"].filter(~pl.col("run").is_in(ended.implode()))
    here = [path / row["run"] for row in rows]
    runs = pl.concat([runs.filter(~pl.col("run").is_in(kept["run"].implode())), kept])
    measured = {
        name: table.merge([table.scan(here), packed[name]], path) for name, table in TABLES.items()
    }
    order = ["task", "encoding", "seed", "learning_rate", "run"]
    return StoreTables(runs.sort(order), **measured)


def pack(tables: StoreTables, path: Path) -> None:
    """Writes tables as a packed store, which `read_store` reads again."""
    write_packed(tables._asdict(), path)

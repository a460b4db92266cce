"""Tables of measurements: Parquet files that every run keeps in one of its folders.

Thousands of files are read in one scan. Damaged files are left out with a warning that names them.
"""

import contextlib
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What Polars raises for a damaged file."""


@dataclass(frozen=True)
class Measurements:
    """The definition of a table of measurements."""

    folder: str
    """The folder inside a run's folder that holds the files."""
    columns: dict[str, Any]
    """The columns of a file and their types."""
    key: tuple[str, ...]
    """The columns that identify a row of a run."""
    valid: pl.Expr
    """True for rows that can have been measured."""
    added: dict[str, Any] = field(default_factory=dict)
    """Columns that files of older versions lack, with the value that these files imply."""

    @property
    def schema(self) -> dict[str, Any]:
        """The columns of the table of all runs."""
        return {"run": pl.String, **self.columns}

    def scan(self, runs: Sequence[Path]) -> pl.DataFrame:
        """Reads the files of all these runs' folders; damaged ones are left out with a warning."""
        files = [file for run in runs for file in _parquet_files(run / self.folder)]
        try:
            return self._read(files)
        except UNREADABLE:  # Find out which ones.
            intact = []
            for file in files:
                try:
                    self._read([file])
                    intact.append(file)
                except UNREADABLE as error:
                    warnings.warn(f"left out: {file} is damaged ({in_line(error)}).", stacklevel=4)
            return self._read(intact)

    def _read(self, files: list[Path]) -> pl.DataFrame:
        if not files:
            return pl.DataFrame(schema=self.schema)
        table = pl.scan_parquet(
            files,
            schema=self.columns,
            include_file_paths="run",
            glob=False,
            missing_columns="insert" if self.added else "raise",
        )
        # The run is the folder above the folder of the file.
        name = pl.col("run").str.split("/").list.get(-3)
        return table.with_columns(name).select(*self.schema).collect()

    def merge(self, tables: Sequence[pl.DataFrame], store: Path) -> pl.DataFrame:
        """Joins tables of one store: sorted, without invalid rows, each key once.

        Of two rows with one key the first one is kept. Rows of older versions give way to others.
        """
        rows = pl.concat(tables)
        if self.added:
            implied = {name: value for name, value in self.added.items() if value is not None}
            older = rows.select(pl.any_horizontal(pl.col(*implied).is_null())).to_series()
            if older.any():
                rows = pl.concat([rows.filter(~older), rows.filter(older)]).with_columns(
                    pl.col(name).fill_null(value) for name, value in implied.items()
                )
        valid = rows.filter(self.valid)
        if len(valid) < len(rows):
            names = rows.filter(~self.valid.fill_null(value=False))["run"].unique().sort()
            places = ", ".join(str(store / name) for name in names)
            count = len(rows) - len(valid)
            warnings.warn(
                f"left out: {count} impossible rows of {self.folder}/ in {places}.", stacklevel=3
            )
        key = ["run", *self.key]
        new = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in key)
        return valid.sort(key, maintain_order=True).filter(new)


def in_line(error: BaseException) -> str:
    """Returns the message of an error in one line."""
    return " ".join(str(error).split())


def _parquet_files(folder: Path) -> list[Path]:
    files = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if not entry.name.endswith(".parquet"):
                continue
            if entry.is_file():  # Polars would wait at a pipe.
                files.append(Path(entry.path))
            else:
                warnings.warn(f"left out: {entry.path} is not a file.", stacklevel=5)
    return files

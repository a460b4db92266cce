"""Packed stores: the tables of a store in a few Parquet files, small enough to commit or send.

Such a file may come from anywhere, so everything in it is checked here: a run's name becomes a
path, and its configuration is trusted afterwards.
"""

import io
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import polars as pl

from randpos.errors import UserError
from randpos.store.files import read_file, write_atomic
from randpos.store.folder import FORMAT
from randpos.store.measurements import UNREADABLE, in_line
from randpos.store.result import Ending, Status, is_count, is_number
from randpos.store.rows import RUNS, settings_columns, stored_experiment

FIRST_TABLES = ["accuracies"]
"""The tables of measurements that version 0.1 packed, which did not list them."""
_LOSS = r"-?\d+(\.\d+)?([eE][-+]?\d+)?"
_ACCURACY = r"(0|1|[01]\.0|0\.\d+|\d(\.\d+)?[eE]-\d+)"
CURVE = rf"^\[(\[\d{{1,15}}, {_LOSS}, {_ACCURACY}\](, )?)*\]$"
"""A learning curve as JSON. Parsing thousands of them would take seconds."""


def packed_file(path: Path, table: str) -> Path:
    """Returns the file of a table in a packed store."""
    return path / f"{table}.parquet"


def write_packed(tables: Mapping[str, pl.DataFrame], path: Path) -> None:
    """Writes the tables of a store, `runs` last: without it the others are not a store."""
    names = [name for name in tables if name != "runs"]
    about = {"randpos": json.dumps({"format": FORMAT, "tables": names})}
    for name in [*names, "runs"]:
        buffer = io.BytesIO()
        tables[name].write_parquet(buffer, compression="zstd", compression_level=19, metadata=about)
        write_atomic(packed_file(path, name), buffer.getvalue())


def read_packed(path: Path, schemas: Mapping[str, dict[str, Any]]) -> dict[str, pl.DataFrame]:
    """Reads the packed tables of a store; returns empty ones if it is not packed.

    Args:
        path: The store.
        schemas: The columns of every table of measurements.
    """
    tables = {name: pl.DataFrame(schema=schema) for name, schema in schemas.items()}
    if not packed_file(path, "runs").is_file():
        return {"runs": pl.DataFrame(schema=RUNS), **tables}
    runs, written = _read_table(packed_file(path, "runs"), RUNS)
    rows = [row for row in map(_checked_row, runs.iter_rows(named=True)) if row is not None]
    kept = pl.DataFrame(rows, schema=RUNS, orient="row")
    kept = kept.filter(pl.col("curve").str.contains(CURVE), pl.col("run").is_first_distinct())
    if len(kept) < len(runs):
        count = len(runs) - len(kept)
        file = packed_file(path, "runs")
        warnings.warn(f"left out: {count} rows of {file} that are not runs.", stacklevel=3)
    for name in written:
        if name in schemas:
            table, _ = _read_table(packed_file(path, name), schemas[name])
            tables[name] = table.filter(pl.col("run").is_in(kept["run"].implode()))
    return {"runs": kept, **tables}


def _read_table(file: Path, schema: dict[str, Any]) -> tuple[pl.DataFrame, list[str]]:
    """Reads a table, with nulls in columns that it lacks, and the names of all packed tables."""
    content = read_file(file)
    try:
        about = json.loads(pl.read_parquet_metadata(io.BytesIO(content)).get("randpos", "{}"))
        version, names = about.get("format", FORMAT), list(about.get("tables", FIRST_TABLES))
        if version > FORMAT:
            raise UserError(
                f"{file} was written in format {version}, but this version of randpos reads "
                f"up to {FORMAT}; install a newer randpos."
            )
        table = pl.read_parquet(io.BytesIO(content), schema=schema, missing_columns="insert")
    except UserError:
        raise
    except (*UNREADABLE, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise UserError(f"{file} is damaged ({in_line(error)}).") from error
    return table, names


def _checked_row(row: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the row with its settings taken from its configuration; None if it is not a run."""
    try:
        settings = settings_columns(stored_experiment(json.loads(row["config"])))
        environment = json.loads(row["environment"])
    except (TypeError, ValueError, RecursionError):  # UserError is a ValueError.
        return None
    step, seconds, unknown = row["step"], row["seconds"], row["status"] not in get_args(Ending)
    sound = (
        row["run"] == settings["run"]
        and row["status"] in get_args(Status)
        and (is_count(step) or (step is None and unknown))
        and ((is_number(seconds) and seconds >= 0) or (seconds is None and unknown))
        and isinstance(environment, dict)
        and row["curve"] is not None
    )
    return {**row, **settings} if sound else None

"""Accuracies per length in Parquet: one file per run and setting of the test."""

import hashlib
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from randpos.bits import VERSION
from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.store.files import read_file, write_atomic
from randpos.store.measurements import UNREADABLE, Measurements, in_line
from randpos.store.result import Accuracy

SCHEMA = {
    "length": pl.Int32,
    "accuracy": pl.Float64,
    "whole": pl.Float64,
    "error": pl.Float64,
    "forced": pl.Float64,
    "constant": pl.Boolean,
}
"""The fields of `Accuracy`."""
WAY = {"batch": pl.Int32, "seed": pl.UInt32, "draws": pl.Int32, "numerics": pl.Int32}
"""How a file's accuracies were measured; the same in every row, so that files can be joined.

`numerics` is the version of the numerics; null in files that did not record it yet. Versions may
test on different batches, so that accuracies of two versions are never mixed in one curve.
"""
MEASUREMENTS = Measurements(
    folder="evaluation",
    columns=SCHEMA | WAY,
    key=(*WAY, "length"),
    valid=pl.all_horizontal(
        pl.col("length", "batch", "draws") >= 1,
        pl.col("seed").is_not_null(),
        pl.col("numerics").is_null() | (pl.col("numerics") >= 1),
        pl.col("accuracy", "whole").is_between(0, 1),  # False for NaN.
        pl.col("error").is_null() | pl.col("error").is_between(0, math.inf, closed="left"),
        pl.col("forced").is_null() | pl.col("forced").is_between(0, 1),
    ),
    added={"draws": 1, "error": None, "forced": None, "constant": None, "numerics": None},
)


def way_of_testing(experiment: Experiment) -> dict[str, int]:
    """Returns the columns of `WAY`."""
    options = experiment.evaluation
    draws = options.draw_count
    return {"batch": options.batch, "seed": options.seed, "draws": draws, "numerics": VERSION}


def accuracies_path(folder: Path, experiment: Experiment) -> Path:
    """Returns the file of a run's accuracies under its evaluation settings.

    The stride is not part of the name: a denser evaluation adds lengths to the same file. The
    version of the numerics is: another version tests on other batches.
    """
    text = json.dumps(way_of_testing(experiment), sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:8]
    return folder / MEASUREMENTS.folder / f"batch{experiment.evaluation.batch}-{name}.parquet"


def read_accuracies(folder: Path, experiment: Experiment) -> list[Accuracy]:
    """Reads a run's accuracies by length; an empty list if it has not been tested so.

    Raises:
        UserError: The file is damaged.
    """
    path = accuracies_path(folder, experiment)
    if not path.exists():
        return []
    try:
        content = io.BytesIO(read_file(path))
        table = pl.read_parquet(content, schema=MEASUREMENTS.columns, missing_columns="insert")
    except UNREADABLE as error:
        reason = in_line(error)
        raise UserError(f"{path} is damaged; remove it to evaluate again ({reason}).") from error
    if len(table.filter(MEASUREMENTS.valid).unique("length")) < len(table):
        raise UserError(f"{path} is damaged; remove it to evaluate again (impossible accuracies).")
    return sorted(Accuracy(*row) for row in table.select(*SCHEMA).iter_rows())


def write_accuracies(folder: Path, experiment: Experiment, rows: Sequence[Accuracy]) -> None:
    """Writes all accuracies of a run, atomically."""
    buffer, way = io.BytesIO(), way_of_testing(experiment)
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    columns = (pl.lit(way[name], kind).alias(name) for name, kind in WAY.items())
    table.with_columns(columns).write_parquet(buffer)
    write_atomic(accuracies_path(folder, experiment), buffer.getvalue())

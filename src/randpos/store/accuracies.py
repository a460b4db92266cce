"""Accuracies per length in Parquet: one file per run and way of testing it."""

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.numerics import VERSION
from randpos.store.files import read_file, write_atomic
from randpos.training.evaluation import Accuracy

SCHEMA = {"length": pl.Int32, "accuracy": pl.Float64, "whole": pl.Float64, "error": pl.Float64}
WAY = {"batch": pl.Int32, "seed": pl.UInt32, "draws": pl.Int32}
"""How a file's accuracies were measured; the same in every row, so that files can be joined."""
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What Polars raises over a damaged file."""


def accuracies_path(folder: Path, experiment: Experiment) -> Path:
    """Returns the file of a run's accuracies under its options of evaluation.

    The stride is not part of the name: a denser evaluation adds lengths to the same file. The
    version of the numerics is: another version tests on other batches.
    """
    way = experiment.evaluation
    options = {"batch": way.batch, "seed": way.seed, "draws": way.draw_count, "numerics": VERSION}
    text = json.dumps(options, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:8]
    return folder / "evaluation" / f"batch{experiment.evaluation.batch}-{name}.parquet"


def read_accuracies(folder: Path, experiment: Experiment) -> list[Accuracy]:
    """Reads the accuracies that are there, by length; an empty list if there are none."""
    path = accuracies_path(folder, experiment)
    if not path.exists():
        return []
    try:
        table = pl.read_parquet(io.BytesIO(read_file(path)), schema=SCHEMA | WAY).select(*SCHEMA)
    except UNREADABLE as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path} is damaged; remove it to evaluate again ({reason}).") from error
    share = pl.col("accuracy", "whole").is_between(0, 1)  # which NaN is not
    sound = table.filter(pl.all_horizontal(pl.col("length") >= 1, share)).unique("length")
    if len(sound) < len(table):
        raise UserError(f"{path} is damaged; remove it to evaluate again (no such accuracies).")
    return sorted(Accuracy(*row) for row in table.iter_rows())


def write_accuracies(folder: Path, experiment: Experiment, rows: Sequence[Accuracy]) -> None:
    """Writes all accuracies of a run, atomically."""
    buffer, way = io.BytesIO(), experiment.evaluation
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row").with_columns(
        pl.lit(way.batch, pl.Int32).alias("batch"),
        pl.lit(way.seed, pl.UInt32).alias("seed"),
        pl.lit(way.draw_count, pl.Int32).alias("draws"),
    )
    table.write_parquet(buffer)
    write_atomic(accuracies_path(folder, experiment), buffer.getvalue())

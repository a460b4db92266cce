"""Tests during training: accuracies by step and length, from the lines that training writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from randpos.store.folder import RunFolder
from randpos.store.measurements import Measurements

FILE = "tests.jsonl"
COLUMNS = {"step": pl.Int64, "length": pl.Int32, "accuracy": pl.Float64, "whole": pl.Float64}


@dataclass(frozen=True)
class LineMeasurements(Measurements):
    """A table of measurements from one file of JSON lines per run."""

    def scan(self, runs: Sequence[Path]) -> pl.DataFrame:
        """Reads the lines of all these runs' folders; columns that a line lacks are null."""
        rows = [
            [run.name, *(line.get(column) for column in self.columns)]
            for run in runs
            for line in RunFolder(run).lines(self.folder)
        ]
        # Not strict: a number of the wrong type becomes null, and the row invalid.
        return pl.DataFrame(rows, schema=self.schema, orient="row", strict=False)


MEASUREMENTS = LineMeasurements(
    folder=FILE,
    columns=COLUMNS,
    key=("step", "length"),
    valid=pl.all_horizontal(
        pl.col("step") >= 0,
        pl.col("length") >= 1,
        pl.col("accuracy", "whole").is_between(0, 1),
    ),
)

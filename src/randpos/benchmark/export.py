"""Examples as files: JSON lines and Parquet, written block by block."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from randpos.benchmark.formats import Layout, fitted
from randpos.benchmark.sampling import Examples
from randpos.store.files import TEMPORARY, explained

FileFormat = Literal["jsonl", "parquet"]


def write_jsonl(data: Examples, path: Path, layout: Layout) -> None:
    """Writes one JSON object per example."""
    with _replacing(path) as partial, partial.open("wb") as file:
        for frame in frames(data, layout):
            frame.write_ndjson(file)


def write_parquet(data: Examples, path: Path, layout: Layout) -> None:
    """Writes a Parquet file; token columns are lists."""
    first = next(frames(data, layout))

    def source(columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        for frame in frames(data, layout):
            yield frame if columns is None else frame.select(columns)

    with _replacing(path) as partial:
        register_io_source(source, schema=dict(first.schema)).sink_parquet(partial)


WRITERS: dict[FileFormat, Callable[[Examples, Path, Layout], None]] = {
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}


def frames(data: Examples, layout: Layout) -> Iterator[pl.DataFrame]:
    """Yields the examples as data frames, one per block."""
    layout = fitted(layout, data.task, data.lengths)
    for block in data:
        columns = layout.columns(data.task, block)
        yield pl.DataFrame({name: _series(values) for name, values in columns.items()})


def _series(values: np.ndarray | list[str]) -> pl.Series:
    series = pl.Series(values)
    if isinstance(series.dtype, pl.Array):
        return series.cast(pl.List(series.dtype.inner))
    return series


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Gives a temporary file that takes the place of `path` once it is complete."""
    partial = path.with_name(f"{TEMPORARY}{os.getpid()}-{path.name}")
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield partial
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)

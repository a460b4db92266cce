"""A whole store as two tables: one row per run, and one per run and tested length.

Thousands of runs are read at once: small JSON files for the runs, and one scan over all Parquet
files for the accuracies. What is damaged is left out with a warning that names the file. A store
may also be *packed*: the same tables in two files, small enough to be committed or sent.
"""

import contextlib
import copy
import io
import json
import os
import re
import warnings
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from randpos.errors import UserError
from randpos.experiment import LONGEST, Experiment
from randpos.store.accuracies import SCHEMA, UNREADABLE, WAY
from randpos.store.files import explained, read_file, read_json, write_atomic
from randpos.store.folder import FORMAT, RunFolder, Store

RUNS = {
    "run": pl.String,
    "task": pl.String,
    "encoding": pl.String,
    "seed": pl.UInt32,
    "learning_rate": pl.Float64,
    "steps": pl.Int64,
    "batch": pl.Int64,
    "training_length": pl.Int64,
    "test_length": pl.Int64,
    "maximum": pl.Int64,
    "reading": pl.String,
    "draw": pl.String,
    "status": pl.String,
    "step": pl.Int64,
    "seconds": pl.Float64,
    "reason": pl.String,
    "config": pl.String,
    "environment": pl.String,
    "curve": pl.String,
}
"""A run: its settings, how it stands (`complete`, `diverged`, `failed` or `unfinished`), and as
JSON its whole experiment, its environment and its learning curve (step, loss, accuracy)."""
ACCURACIES = {"run": pl.String, **SCHEMA, **WAY}
"""A tested length of a run; `batch` and `seed` say how it was tested."""

PACKED = ("runs.parquet", "accuracies.parquet")
ENDED = ["complete", "diverged"]
STATES = [*ENDED, "failed", "unfinished"]
MOST = dict.fromkeys(("steps", "batch", "maximum"), 2**31 - 1)
MOST |= dict.fromkeys(("training_length", "test_length"), LONGEST)
"""The largest settings that an experiment may have."""
NUMBER = r"(-?\d+(\.\d+)?([eE][-+]?\d+)?|NaN|-?Infinity)"
CURVE = rf"^\[(\[\d{{1,15}}, {NUMBER}, {NUMBER}\](, )?)*\]$"
"""A learning curve as `pack` writes it. Thousands of them take seconds to read as JSON."""


class StoreTables(NamedTuple):
    """What a store holds."""

    runs: pl.DataFrame
    accuracies: pl.DataFrame

    def experiment(self, run: str) -> Experiment:
        """Returns the experiment of a run."""
        row = self.runs.row(by_predicate=pl.col("run") == run, named=True)
        return Experiment.from_dict(json.loads(row["config"]))

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
        kept = pl.col("run").is_in(runs["run"].implode())
        return StoreTables(runs, self.accuracies.filter(kept))


def read_store(path: Path, tested: bool = True) -> StoreTables:
    """Reads all runs of a store, packed ones included.

    Args:
        path: The folder.
        tested: Read the accuracies too, which are most of the data.
    """
    if not path.is_dir():
        raise UserError(f"{path} is not a store of runs: there is no such folder.")
    with explained(path):
        folders = {folder.path.name: folder for folder in Store(path).runs()}
    rows = []
    for name, folder in folders.items():
        try:
            rows.append(_row(name, folder))
        except UserError as error:
            warnings.warn(f"left out: {error}", stacklevel=2)
    runs = pl.DataFrame(rows, schema=RUNS, orient="row")
    accuracies = _scan([path / row["run"] for row in rows] if tested else [])
    packed = _read_packed(path)
    if packed is not None:
        # A run that has ended here is newer than what was packed; one under way is not.
        ended = runs.filter(pl.col("status").is_in(ENDED))["run"]
        kept = packed.runs.filter(~pl.col("run").is_in(ended.implode()))
        runs = pl.concat([runs.filter(~pl.col("run").is_in(kept["run"].implode())), kept])
        way = ["run", "batch", "seed", "draws", "length"]
        accuracies = pl.concat([accuracies, packed.accuracies]).unique(way, keep="first")
    accuracies = accuracies.with_columns(pl.col("draws").fill_null(1))
    share = pl.col("accuracy", "whole").is_between(0, 1)  # which NaN is not
    sound = accuracies.filter(pl.col("length") >= 1, pl.all_horizontal(share))
    if len(sound) < len(accuracies):
        count = len(accuracies) - len(sound)
        names = accuracies.join(sound, on=accuracies.columns, how="anti")["run"].unique()
        told = ", ".join(f"{path}/{name}" for name in names.sort())
        warnings.warn(
            f"left out: {count} accuracies that no test can measure in {told}.", stacklevel=2
        )
    order = ["task", "encoding", "seed", "learning_rate", "run"]
    return StoreTables(runs.sort(order), sound.sort("run", "batch", "seed", "draws", "length"))


def pack(records: StoreTables, path: Path) -> None:
    """Writes the tables of a store as two files that `read_store` reads again."""
    # The runs last: without them the other file is no store.
    for name, table in reversed(list(zip(PACKED, records, strict=True))):
        buffer = io.BytesIO()
        about = {"randpos": json.dumps({"format": FORMAT})}
        table.write_parquet(buffer, compression="zstd", compression_level=19, metadata=about)
        write_atomic(path / name, buffer.getvalue())


def _row(name: str, folder: RunFolder) -> dict[str, Any]:
    try:
        experiment = _experiment(folder.settings())
        digest = experiment.digest
    except RecursionError as error:
        raise UserError(f"{folder.path / 'config.json'} is damaged: it is too deep.") from error
    except UserError as error:
        if str(folder.path) in str(error):
            raise
        raise UserError(f"{folder.path / 'config.json'}: {error}") from error
    if digest != name:
        raise UserError(f"{folder.path} does not hold the run that its name says.")
    result = folder.result()
    known = folder.path / "environment.json"
    environment = read_json(known) if known.is_file() else {}
    row = {
        "run": name,
        "task": experiment.task,
        "encoding": experiment.combination.name,
        "seed": experiment.seed,
        "learning_rate": experiment.learning_rate,
        "steps": experiment.steps,
        "batch": experiment.batch,
        "training_length": experiment.lengths.maximum,
        "test_length": experiment.test_length,
        "maximum": experiment.positions.maximum,
        "reading": experiment.reading,
        "draw": experiment.positions.draw,
        "status": folder.status(),
        "step": result and result.step,
        "seconds": result and result.seconds,
        "reason": folder.failure(),
        "config": _text(experiment.to_dict(), folder),
        "environment": _text(environment, folder),
        "curve": json.dumps(result.curve if result else []),
    }
    for column, value in row.items():
        if type(value) is int and value >= 2**63:
            raise UserError(f"{folder.path} is damaged: {column}={value} is too large.")
        if isinstance(value, str):  # half of a surrogate pair is no text
            row[column] = value.encode(errors="replace").decode()
    return row


def _experiment(settings: Any) -> Experiment:
    """Makes an experiment of plain data, checked as always, but fast for thousands and no import.

    Runs that differ in seed and rate share their checks. A task of somebody's own is not loaded:
    looking at a store must not run code that it names.
    """
    if not isinstance(settings, dict):
        return Experiment.from_dict(settings)  # which says what is wrong with it
    data = dict(settings)
    own = {name: data.pop(name) for name in ("seed", "learning_rate") if name in data}
    if ":" in str(data.get("task")):
        own["task"] = str(data.pop("task"))
        data["task"] = "even_pairs"  # whose sequences are the shortest
    one = copy.copy(_checked(json.dumps(data, sort_keys=True)))
    checked = _checked(json.dumps({k: v for k, v in own.items() if k != "task"}))
    for name in own:
        object.__setattr__(one, name, own["task"] if name == "task" else getattr(checked, name))
    return one


@lru_cache(maxsize=4096)
def _checked(text: str) -> Experiment:
    return Experiment.from_dict(json.loads(text))


def _text(data: Any, folder: RunFolder) -> str:
    try:
        return json.dumps(data)
    except RecursionError as error:
        raise UserError(f"{folder.path} is damaged: its JSON is too deep.") from error


def _scan(folders: list[Path]) -> pl.DataFrame:
    files = []
    for folder in folders:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for entry in sorted(os.scandir(folder / "evaluation"), key=lambda one: one.name):
                if not entry.name.endswith(".parquet"):
                    continue
                if entry.is_file():  # Polars would wait at a pipe
                    files.append(Path(entry.path))
                else:
                    warnings.warn(f"left out: {entry.path} is not a file.", stacklevel=3)
    try:
        return _read_parquet(files)
    except UNREADABLE:  # at least one of them: which?
        intact = []
        for path in files:
            try:
                _read_parquet([path])
                intact.append(path)
            except UNREADABLE as error:
                warnings.warn(f"left out: {path} is damaged ({_line(error)}).", stacklevel=3)
        return _read_parquet(intact)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _read_parquet(files: list[Path]) -> pl.DataFrame:
    if not files:
        return pl.DataFrame(schema=ACCURACIES)
    table = pl.scan_parquet(
        files,
        schema=SCHEMA | WAY,
        include_file_paths="run",
        glob=False,
        missing_columns="insert",  # written before these columns were known
    )
    # The run is the folder above the folder of the file.
    name = pl.col("run").str.split("/").list.get(-3)
    return table.with_columns(name).select(*ACCURACIES).collect()


def _read_packed(path: Path) -> StoreTables | None:
    if not (path / PACKED[0]).is_file():
        return None
    tables = []
    for name, schema in zip(PACKED, (RUNS, ACCURACIES), strict=True):
        file = path / name
        content = read_file(file)
        try:
            about = json.loads(pl.read_parquet_metadata(io.BytesIO(content)).get("randpos", "{}"))
            version = about.get("format", FORMAT)
            if version > FORMAT:
                raise UserError(
                    f"{file} was written in format {version}, but this version of randpos reads "
                    f"up to {FORMAT}; install a newer randpos."
                )
            content = io.BytesIO(content)
            tables.append(pl.read_parquet(content, schema=schema, missing_columns="insert"))
        except (*UNREADABLE, AttributeError, TypeError) as error:
            raise UserError(f"{file} is damaged ({_line(error)}).") from error
    runs, accuracies = tables
    rows = runs.drop("curve").iter_rows(named=True)
    sound = pl.Series([_is_sound(row) for row in rows], dtype=pl.Boolean)
    sound &= runs["curve"].str.contains(CURVE) & runs["run"].is_first_distinct()
    kept = runs.filter(sound)
    if len(kept) < len(runs):
        count = len(runs) - len(kept)
        warnings.warn(
            f"left out: {count} rows of {path / PACKED[0]} that are no runs.", stacklevel=3
        )
    if not accuracies["run"].unique().is_in(kept["run"].implode()).all():
        accuracies = accuracies.filter(pl.col("run").is_in(kept["run"].implode()))
    return StoreTables(kept, accuracies)


def _names(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: sorted(one) if type(one) is dict else () for name, one in settings.items()}


def _is_sound(row: dict[str, Any]) -> bool:
    """Tells whether a packed row may be a run: anybody can have written it.

    Its name becomes a path, and others read its settings without a second look.
    """
    try:
        settings = json.loads(row["config"])
        experiment = _experiment(settings)
        return (
            re.fullmatch("[0-9a-f]{16}", row["run"]) is not None
            and _names(settings) == _names(experiment.to_dict())
            and all(row[name] == getattr(experiment, name) for name in ("task", "seed"))
            and row["encoding"] == experiment.combination.name
            and row["learning_rate"] == experiment.learning_rate
            and all(1 <= row[name] <= most for name, most in MOST.items())
            and row["reading"] is not None
            and row["draw"] is not None
            and row["status"] in STATES
            and (row["step"] or 0) >= 0
            and 0 <= (row["seconds"] or 0) < float("inf")
            and isinstance(json.loads(row["environment"]), dict)
        )
    except (TypeError, ValueError, AttributeError, RecursionError):
        return False

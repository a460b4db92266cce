"""A small store of real files, and every way to spoil one of them."""

import io
import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import safetensors.numpy
from hypothesis import strategies as st

from randpos.store.accuracies import SCHEMA, WAY, accuracies_path
from randpos.store.checkpoints import named_arrays, save
from randpos.store.rows import RUNS, stored_experiment
from randpos.store.tables import pack, read_store
from tests.experiments import random_model, tiny
from tests.fuzz import inputs
from tests.fuzz.inputs import NASTY, Damage, altered, damages, json_bytes
from tests.sweeps.synthetic import write_run

VICTIM = tiny(seed=0)
DIGEST = VICTIM.digest
EVALUATION = f"evaluation/{accuracies_path(Path(), VICTIM).name}"
JSON = ("config.json", "result.json", "environment.json", "failure.json")
PACKED = ("runs.parquet", "accuracies.parquet", "tests.parquet")
FILES = (*JSON, "model.safetensors", EVALUATION, "metrics.jsonl")


def make_store(path: Path) -> None:
    """Writes two trained runs, one that failed, one that diverged and one under way."""
    for seed in range(2):
        folder = write_run(path, tiny(seed=seed))
        arrays = named_arrays(random_model(tiny(seed=seed)))
        folder.parameters.write_bytes(safetensors.numpy.save(arrays))
        folder.append("metrics.jsonl", {"step": 60, "loss": 0.5, "accuracy": 0.5})
    write_run(path, tiny(seed=2), "failed", reason="out of luck")
    write_run(path, tiny(seed=3), "diverged")
    folder = write_run(path, tiny(seed=4), "unfinished")
    save(folder.checkpoints, 20, named_arrays(random_model(tiny())), keep=2)


def make_pack(store: Path, path: Path) -> None:
    """Packs it."""
    pack(read_store(store), path)


Harm = Callable[[Path], None]
"""Spoils a store; gets the folder that holds it."""


def put(name: str, content: bytes) -> Harm:
    """Writes a file of the first run."""

    def harm(store: Path) -> None:
        path = store / DIGEST / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)

    return harm


def spoil(name: str, damage: Damage) -> Harm:
    """Damages a file of the first run, or a good one in its place."""

    def harm(store: Path) -> None:
        path = store / DIGEST / name
        good = path.read_bytes() if path.exists() else json_bytes(PLAIN[name])
        path.write_bytes(damage(good))

    return harm


def odd(name: str, kind: str) -> Harm:
    """Puts something else in the place of a file, or of the run's folder."""

    def harm(store: Path) -> None:
        path, outside = store / DIGEST / name, store.parent / "outside"
        path.parent.mkdir(exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        if kind == "folder":
            (path / "inner").mkdir(parents=True)
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind != "gone":
            targets = {"canary": outside / "canary", "outside": outside, "loop": path}
            path.symlink_to(targets.get(kind, Path(kind)))

    return harm


def linked(name: str) -> Harm:
    """Moves a part of the run, or all of it, out of the store, and leaves a link to it."""

    def harm(store: Path) -> None:
        path, moved = store / DIGEST / name, store.parent / "outside" / "moved"
        if path.exists():
            shutil.move(path, moved)
        else:
            moved.mkdir()
        path.symlink_to(moved)

    return harm


def renamed(name: str, copied: bool) -> Harm:
    """Gives the run's folder another name, or the run a copy of that name."""

    def harm(store: Path) -> None:
        whole = name.replace("/", "_").replace("\0", "_").encode(errors="replace")[:200] or b"_"
        other = store / os.fsdecode(whole)
        if not other.exists():
            (shutil.copytree if copied else shutil.move)(store / DIGEST, other)

    return harm


def settings_with_digest(settings: Any) -> Harm:
    """Writes an experiment that names itself rightly, if it is one that can be named."""

    def harm(store: Path) -> None:
        content = {"format": 1, "digest": DIGEST, "experiment": settings}
        (store / DIGEST / "config.json").write_bytes(json_bytes(content))
        try:
            name = stored_experiment(settings).digest
        except (ValueError, RecursionError):
            return
        if not (store / name).exists():
            (store / DIGEST).rename(store / name)

    return harm


def forged(column: str, value: Any, every: bool) -> Harm:
    """Writes a value into the first run of a packed store, or into all of them."""

    def harm(store: Path) -> None:
        runs = pl.read_parquet(store / PACKED[0])
        first = pl.int_range(pl.len()) == 0
        content = pl.lit(value, RUNS[column])
        forged_column = pl.when(pl.lit(every) | first).then(content).otherwise(column)
        runs.with_columns(forged_column.alias(column)).write_parquet(store / PACKED[0])

    return harm


# None that leads out of the test's own folder: what if a name is believed after all?
PATHS = ["../outside", "../outside/sub", "../store", ".", "..", "outside", "\0"]
TEXTS = ["{}", "[", "[]", "null", '{"task": "hostile:Task"}', "[[1, 2]]", '[["a", 1, 2]]', "[1]"]
SAME = json.dumps(VICTIM.to_dict())


@st.composite
def forgeries(draw: st.DrawFn) -> Harm:
    """Packed stores that are intact, but name what no run has."""
    column = draw(st.sampled_from([*RUNS, *["run"] * 6]))  # which is worth most
    if RUNS[column] == pl.String:
        nasty = [text for text in NASTY if text.isascii() or text.isprintable()]
        value: Any = draw(st.sampled_from([*PATHS, *TEXTS, *nasty, DIGEST, SAME, "complete", None]))
    elif RUNS[column] == pl.Float64:
        value = draw(st.sampled_from([0.0, -1.0, 1e308, math.nan, math.inf, None]))
    else:
        most = 2**32 - 1 if RUNS[column] == pl.UInt32 else 2**63 - 1
        least = 0 if RUNS[column] == pl.UInt32 else -(2**63)
        value = draw(st.sampled_from([0, 1, 7, 10**6, 2**31, most, least, None]))
    return forged(column, value, draw(st.booleans()))


def _table(columns: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns, strict=False).write_parquet(buffer)
    return buffer.getvalue()


def tables() -> st.SearchStrategy[bytes]:
    """Parquet files that are intact, but hold what no test measured."""
    many = st.integers(0, 3)
    lengths = st.sampled_from([0, -1, 1, 3, 6, 7, 2**31 - 1, -(2**31)])
    shares = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.5, -1e308, 1e308])

    counts = st.sampled_from([16, 0, -5])
    ways = st.tuples(counts, st.just(0), counts, counts)

    @st.composite
    def right(draw: st.DrawFn) -> bytes:
        size = draw(many)
        rows = [
            (
                draw(lengths),
                *(draw(shares) for _ in range(len(SCHEMA) - 2)),
                draw(st.sampled_from([True, False, None])),  # constant
                *draw(ways),
            )
            for _ in range(size)
        ]
        nulls = draw(st.booleans())
        rows += [(None,) * len(SCHEMA | WAY)] if nulls else []
        buffer = io.BytesIO()
        pl.DataFrame(rows, schema=SCHEMA | WAY, orient="row").write_parquet(buffer)
        return buffer.getvalue()

    wrong = st.dictionaries(
        st.sampled_from([*SCHEMA, *WAY, "run", "more"]),
        st.sampled_from([[1], [1.5], ["x"], [None], [b"x"], [[1]], [True], [{"a": 1}]]),
    ).map(_table)
    return right() | wrong


EXPERIMENT = VICTIM.to_dict()
CONFIG = {"format": 1, "digest": DIGEST, "experiment": EXPERIMENT}
RESULT = {"status": "complete", "step": 60, "seconds": 1.5, "curve": [[60, 0.5, 0.5]]}
PLAIN = {
    "config.json": CONFIG,
    "result.json": RESULT,
    "environment.json": {"device": "cpu", "packages": {"jax": "0.10"}, "commit": None},
    "failure.json": {"reason": "none"},
}


PLACES = [*FILES, "", "evaluation", "lock", "torch.safetensors"]
ODD = ["folder", "pipe", "gone", "canary", "outside", "loop", "/dev/zero", "nowhere"]
harms = st.one_of(
    st.builds(spoil, st.sampled_from(FILES), damages),
    *(altered(PLAIN[n]).map(lambda data, n=n: put(n, json_bytes(data))) for n in JSON),
    altered(EXPERIMENT).map(settings_with_digest),
    st.builds(odd, st.sampled_from(PLACES), st.sampled_from(ODD)),
    st.builds(linked, st.sampled_from(["", "evaluation", "checkpoints"])),
    st.builds(renamed, st.sampled_from(NASTY) | inputs.texts, st.booleans()),
    tables().map(lambda content: put(EVALUATION, content)),
    tables().map(lambda content: put("evaluation/extra.parquet", content)),
)
"""Every way to spoil a store."""

"""Damaged stores, read by every command that reads a store."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jaxtyping
import pytest
from hypothesis import strategies as st

from randpos import Accuracy
from randpos.results.page import charts
from randpos.store.tables import read_store
from randpos.sweeps.estimate import Speed
from tests.fuzz.commands import run_command
from tests.fuzz.hostile import (
    DIGEST,
    PACKED,
    PATHS,
    forged,
    forgeries,
    harms,
    linked,
    make_pack,
    make_store,
)
from tests.fuzz.inputs import damages, fuzz, tried


@pytest.fixture(scope="module")
def origin(tmp_path_factory) -> Path:
    """A store, and the same packed; never changed."""
    path = tmp_path_factory.mktemp("origin")
    make_store(path / "runs")
    make_pack(path / "runs", path / "packed")
    return path


class Guess:
    """In the place of the evaluator, which would compile: a model is read, but not run."""

    def __init__(self, experiment, compiling=None) -> None:
        self.experiment = experiment

    def test(self, parameters, lengths):
        for length in lengths:
            yield Accuracy(length, 0.5, 0.5)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty folder beside one that nobody may touch; a module that nobody may import."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    (work / "hostile.py").write_text("raise BaseException('executed')")
    monkeypatch.setattr("randpos.cli.main.enable_cache", lambda: None)
    monkeypatch.setattr("randpos.run.Evaluator", Guess)
    monkeypatch.setattr("randpos.cli.reporting.pictures", lambda *_, **__: {})
    jaxtyping.config.update("jaxtyping_disable", True)
    yield work
    jaxtyping.config.update("jaxtyping_disable", False)


def fresh(origin: Path, name: str) -> Path:
    """Copies the store, and puts things that must stay as they are beside it."""
    for path in (Path("store"), Path("outside")):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(origin / name, "store")
    (Path("outside") / "sub").mkdir(parents=True)
    (Path("outside") / "canary").write_text("precious")
    return Path("store").absolute()


@contextmanager
def nothing_outside() -> Iterator[None]:
    """Asserts that nothing beside the store is made, changed or imported."""
    before = outside()
    yield
    assert outside() == before
    allowed = {"outside", "store", "hostile.py", "report.html", "report.md", "packed-again"}
    assert {path.name for path in Path().iterdir()} <= allowed
    assert "hostile" not in sys.modules


def outside() -> dict[str, bytes | None]:
    """What lies beside the store."""
    found = sorted(Path("outside").rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else None for path in found}


READING = [
    ["runs", "list"],
    ["runs", "list", "--format", "json"],
    ["runs", "show", DIGEST],
    ["runs", "show", "", "--format", "json"],
    ["runs", "show", DIGEST, "--format", "json"],
    ["runs", "pack", "packed-again"],
    ["runs", "prune", "--status", "failed"],
    ["runs", "prune", "--status", "complete", "--yes"],
    ["table", "table1"],
    ["table", "max-position", "--format", "latex"],
    ["sweep", "pca", "--budget", "smoke", "--dry-run"],
]
ACTING = [
    ["evaluate", DIGEST, "--batch", "16"],
    ["evaluate", DIGEST, "--batch", "7", "--format", "json"],
    ["evaluate", "", "--batch", "16"],
    ["export", DIGEST],
    ["export", DIGEST, "--overwrite"],
]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The speed of this machine is not what is tested."""
    monkeypatch.setattr("randpos.sweeps.local.measure_worker", lambda run: Speed(1e9, 1.0))


@fuzz(100, harm=harms, command=st.sampled_from(READING))
def test_a_spoiled_store_is_read_or_refused(origin, harm, command):
    store = fresh(origin, "runs")
    harm(store)
    with nothing_outside(), tried("stores that are read"):
        run_command([*command, "--store", str(store)])


@fuzz(60, harm=harms, command=st.sampled_from(ACTING))
def test_a_spoiled_run_is_used_or_refused(origin, harm, command):
    store = fresh(origin, "runs")
    harm(store)
    with nothing_outside(), tried("runs that are evaluated or exported"):
        run_command([*command, "--store", str(store)])


LINKED = [("", command) for command in (*ACTING[1:], READING[7])]
LINKED += [(name, ACTING[0]) for name in ("evaluation", "checkpoints")]


@pytest.mark.parametrize(("name", "command"), LINKED)
def test_a_link_out_of_the_store_is_not_followed(origin, command, name):
    store = fresh(origin, "runs")
    linked(name)(store)
    with nothing_outside(), tried("links"):
        _, _, err = run_command([*command, "--store", str(store)])
    assert "is a link" in err or "" in command  # which fits every run, and so none


@pytest.fixture(scope="module")
def library():
    """The page's own scripts; what makes them takes more memory than an input may."""
    charts.library()


@fuzz(10, harm=harms, out=st.sampled_from(["report.html", "report.md"]))
def test_the_report_of_a_spoiled_store_is_written_or_refused(origin, library, harm, out):
    store = fresh(origin, "runs")
    harm(store)
    Path(out).unlink(missing_ok=True)
    with nothing_outside(), tried("stores that are reported on"):
        code, _, _ = run_command(["report", str(store), "--out", out])
    assert Path(out).exists() == (code == 0)


@fuzz(40, damage=damages, name=st.sampled_from(PACKED), command=st.sampled_from(READING))
def test_a_spoiled_pack_is_read_or_refused(origin, damage, name, command):
    store = fresh(origin, "packed")
    (store / name).write_bytes(damage((store / name).read_bytes()))
    with nothing_outside(), tried("packed stores"):
        run_command([*command, "--store", str(store)])


@fuzz(60, harm=forgeries(), command=st.sampled_from([*READING, ["report", "--no-figures"]]))
def test_a_forged_pack_is_read_or_refused(origin, library, harm, command):
    store = fresh(origin, "packed")
    harm(store)
    where = (
        [str(store), "--out", "report.html"] if command[0] == "report" else ["--store", str(store)]
    )
    with nothing_outside(), tried("packed stores with forged runs"):
        run_command([*command, *where])


PRUNE = ["runs", "prune", "--status", "complete", "--yes"]


@pytest.mark.parametrize("name", ["", *PATHS, "ABSOLUTE"])
def test_pruning_removes_nothing_that_a_pack_only_names(origin, name):
    store = fresh(origin, "packed")
    forged("run", str(Path("outside").absolute()) if name == "ABSOLUTE" else name, False)(store)
    with nothing_outside():
        code, out, err = run_command([*PRUNE, "--store", str(store)])
    assert (code, out) == (0, "")
    assert err == f"randpos: left out: 1 rows of {store / PACKED[0]} that are not runs.\n"
    assert sorted(path.name for path in store.iterdir()) == sorted(PACKED)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("config", text) for text in ("[", "null", None)),
        ("environment", "[]"),
        *(("curve", text) for text in ("[[1]]", "[[1, --, 2]]")),
        ("status", "splendid"),
        ("seconds", float("nan")),
        ("run", DIGEST),  # of all
    ],
)
def test_a_forged_run_is_left_out_and_the_others_are_read(origin, column, value):
    store = fresh(origin, "packed")
    forged(column, value, value == DIGEST)(store)
    left = 4 if value == DIGEST else 1
    with pytest.warns(UserWarning, match=f"left out: {left} rows of .*runs.parquet") as warned:
        found = read_store(store)
    assert len(warned) == 1
    assert len(found.runs) == 5 - left
    assert set(found.accuracies["run"]) <= set(found.runs["run"])


@pytest.mark.parametrize(
    ("column", "value"),
    [("encoding", "rotary"), ("encoding", None), ("test_length", 2**62), ("steps", 0), ("seed", 7)],
)
def test_a_forged_setting_has_no_effect(origin, column, value):
    """The configuration decides all settings, and its digest must be the name of the run."""
    store = fresh(origin, "packed")
    before = read_store(store)
    forged(column, value, every=True)(store)
    assert read_store(store).runs.equals(before.runs)


WRITING = [
    ["export", DIGEST],
    ["export", DIGEST, "--overwrite"],
    ["report", "store", "--no-figures"],
    ["report", "store"],
    ["runs", "pack"],
]


@pytest.mark.parametrize("kind", ["pipe", "link"])
@pytest.mark.parametrize("command", WRITING, ids=" ".join)
def test_what_is_no_file_is_not_written_to(origin, library, command, kind):
    fresh(origin, "runs")
    folder = Path("outside") / "sub"
    out = folder / {"report": "out.md", "runs": PACKED[0]}.get(command[0], "out")
    if "--no-figures" in command:
        out = folder / "out.html"
    if kind == "pipe":
        os.mkfifo(out)
    else:
        out.symlink_to(Path("..") / "canary")
    before = out.lstat()
    (folder / PACKED[1]).write_bytes(b"")
    store = [] if command[0] == "report" else ["--store", "store"]
    where = [str(folder)] if command[0] == "runs" else ["--out", str(out)]
    code, _, err = run_command([*command, *where, *store])
    assert code == 2
    assert str(out) in err
    assert out.lstat() == before
    assert (Path("outside") / "canary").read_text() == "precious"
    assert not list(Path("outside").rglob(".partial*"))

"""Run folders: what they hold, who may train in them, and how they are found."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from randpos import Experiment, UserError
from randpos.store import lock as locks
from randpos.store.environment import environment
from randpos.store.folder import RunFolder, Store
from randpos.store.result import CurvePoint, Result
from tests.experiments import tiny


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    """A run that has not begun."""
    run = Store(tmp_path).run(tiny())
    run.create(tiny())
    return run


def test_a_run_is_named_by_its_digest(tmp_path):
    assert Store(tmp_path).run(tiny()).path == tmp_path / tiny().digest


def test_the_experiment_reads_back(folder):
    assert folder.experiment() == tiny()


def test_a_folder_is_created_once(folder):
    before = (folder.path / "config.json").stat()
    folder.create(tiny())
    assert (folder.path / "config.json").stat() == before


def test_the_environment_names_versions_and_device():
    found = environment()
    assert found["packages"]["jax"].count(".") == 2
    assert found["backend"] == "cpu"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "damaged"),
        ("[]", "names no format"),
        ('{"format": "1"}', "names no format"),
        ('{"format": 99}', "was written in format 99.*install a newer randpos"),
        ('{"format": 1}', "experiment must be a table"),
        ('{"format": 1, "experiment": {"stpes": 1}}', "no field 'stpes'"),
    ],
)
def test_a_damaged_config_is_named(folder, content, message):
    (folder.path / "config.json").write_text(content)
    with pytest.raises(UserError, match=message):
        folder.experiment()


def test_another_folder_is_no_run(tmp_path):
    with pytest.raises(UserError, match="is not a run"):
        RunFolder(tmp_path).experiment()


def test_a_result_reads_back(folder):
    assert folder.result() is None
    result = Result("complete", 3, 0.5, (CurvePoint(3, 0.7, 0.5),))
    folder.finish(result)
    assert folder.result() == result


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"status": "unknown"}', "null"])
def test_a_damaged_result_is_named(folder, content):
    (folder.path / "result.json").write_text(content)
    with pytest.raises(UserError, match=r"result\.json is damaged"):
        folder.result()


def rows(count: int) -> list[dict[str, float]]:
    return [{"step": 100 * (i + 1), "loss": 1 / (i + 1)} for i in range(count)]


def test_lines_read_back(folder):
    for row in rows(3):
        folder.append("metrics.jsonl", row)
    assert folder.lines("metrics.jsonl") == rows(3)


def test_a_file_that_is_not_there_has_no_lines(folder):
    assert folder.lines("metrics.jsonl") == []


@pytest.mark.parametrize(
    "tail", ["{", '{"step": 30', "7\n", "\x00\x00\n", '{"step"\n{"step": 9}\n']
)
def test_lines_end_before_an_unfinished_one(folder, tail):
    folder.append("metrics.jsonl", rows(1)[0])
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write(tail)
    assert folder.lines("metrics.jsonl") == rows(1)


@pytest.mark.parametrize(("step", "left"), [(0, 0), (99, 0), (100, 1), (250, 2), (900, 3)])
def test_rewinding_drops_later_steps_and_unfinished_lines(folder, step, left):
    for row in rows(3):
        folder.append("metrics.jsonl", row)
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4')
    folder.rewind("metrics.jsonl", step)
    text = (folder.path / "metrics.jsonl").read_text()
    assert text == "".join(json.dumps(row) + "\n" for row in rows(left))


def test_a_full_disk_is_a_sentence(folder, monkeypatch):
    def fail(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(UserError, match=r"metrics\.jsonl cannot be used: No space left on device"):
        folder.append("metrics.jsonl", {"step": 1})


@pytest.mark.parametrize(
    "row",
    [
        {"loss": 1.0},
        {"step": "4"},
        {"step": True},
        {"step": 4, "loss": None},
        {"step": 4, "loss": 10**30},
        {"step": 4, "loss": [1.0]},
    ],
    ids=str,
)
def test_lines_end_before_one_that_holds_no_numbers(folder, row):
    for one in (rows(1)[0], row, rows(2)[1]):
        folder.append("metrics.jsonl", one)
    assert folder.lines("metrics.jsonl") == rows(1)


# Links: nothing may be written outside of the store.


@pytest.mark.parametrize("name", ["lock", "metrics.jsonl", "evaluation", "tensorboard"])
def test_a_run_with_a_link_is_not_locked(folder, tmp_path, name):
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (folder.path / name).symlink_to(outside)
    with pytest.raises(UserError, match=f"{name} is a link"):
        folder.lock()
    assert outside.read_text() == "precious"


@pytest.mark.parametrize("name", ["evaluation", "checkpoints"])
def test_a_run_with_a_linked_folder_is_refused(folder, tmp_path, name):
    (folder.path / name).symlink_to(tmp_path)
    with pytest.raises(UserError, match=f"{name} is a link"):
        folder.experiment()


def test_a_linked_run_is_refused_in_a_store_but_not_when_it_is_named(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / tiny().digest).symlink_to(folder.path)
    with pytest.raises(UserError, match="is a link"):
        Store(other).run(tiny()).experiment()
    found = Store(other).find(str(other / tiny().digest))
    assert found.path == folder.path
    assert found.experiment() == tiny()


def test_lines_are_not_appended_through_a_link(folder, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (folder.path / "metrics.jsonl").symlink_to(outside)
    with pytest.raises(UserError, match=r"metrics\.jsonl cannot be used"):
        folder.append("metrics.jsonl", {"step": 1})
    assert outside.read_text() == "precious"


# Locks.

HOLD = """
import fcntl, os, sys, time
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(handle, fcntl.LOCK_EX)
os.write(handle, f"{os.getpid()}\\n".encode())
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def owner(folder):
    """Another process that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", HOLD, str(folder.path / "lock")], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_process_is_refused_and_told_the_first(folder, owner):
    with pytest.raises(UserError, match=rf"another process \({owner.pid}\)"):
        folder.lock()


def test_a_lock_ends_with_its_owner(folder, owner):
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    folder.lock().release()


def test_a_released_lock_is_free(folder):
    folder.lock().release()
    folder.lock().release()


def test_one_process_cannot_hold_a_run_twice(folder):
    lock = folder.lock()
    with pytest.raises(UserError, match=rf"another process \({os.getpid()}\)"):
        folder.lock()
    lock.release()


def test_a_refused_lock_leaves_the_owners_files_alone(folder, owner):
    partial = folder.path / ".partial-x"
    partial.write_bytes(b"")
    with pytest.raises(UserError):
        folder.lock()
    assert partial.exists()
    assert folder.path.joinpath("lock").read_text().strip() == str(owner.pid)


def test_claiming_a_run_sweeps_what_a_killed_process_left(folder):
    for path in (folder.path, folder.path / "checkpoints"):
        path.mkdir(exist_ok=True)
        (path / ".partial-x").write_bytes(b"half")
    folder.lock().release()
    assert not list(folder.path.rglob(".partial*"))


def test_a_lock_that_cannot_be_written_is_a_sentence(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(locks.os, "pwrite", full)
    with pytest.raises(UserError, match="lock cannot be used: No space left on device"):
        folder.lock()
    monkeypatch.undo()
    folder.lock().release()


def test_a_file_in_place_of_the_store_is_a_sentence(tmp_path):
    (tmp_path / "runs").write_bytes(b"")
    with pytest.raises(UserError, match="cannot be used"):
        Store(tmp_path / "runs").run(tiny()).lock()


# Finding runs.


@pytest.fixture
def two(tmp_path) -> list[Experiment]:
    """Two runs in a store, beside what is no run."""
    made = [tiny(seed=seed) for seed in (0, 1)]
    for one in made:
        Store(tmp_path).run(one).create(one)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes.txt").write_text("")
    return sorted(made, key=lambda one: one.digest)


def test_a_store_lists_its_runs(tmp_path, two):
    assert [run.experiment() for run in Store(tmp_path).runs()] == two


def test_a_store_that_is_not_there_has_no_runs(tmp_path):
    assert list(Store(tmp_path / "nowhere").runs()) == []


@pytest.mark.parametrize("digits", [16, 6])
def test_a_run_is_found_by_the_beginning_of_its_digest(tmp_path, two, digits):
    assert Store(tmp_path).find(two[0].digest[:digits]).experiment() == two[0]


def test_a_run_is_found_by_its_folder(tmp_path, two):
    name = str(tmp_path / two[1].digest)
    assert Store(Path("elsewhere")).find(name).experiment() == two[1]


@pytest.mark.parametrize(("name", "message"), [("", "fits 2 runs"), ("xyz", "no run 'xyz'")])
def test_what_is_not_one_run_is_refused(tmp_path, two, name, message):
    with pytest.raises(UserError, match=message):
        Store(tmp_path).find(name)

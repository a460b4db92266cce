"""Locks: one process at a time works on a run, and a run has no links."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from randpos import UserError
from randpos.store import lock as locks
from randpos.store.lock import BusyError, Lock

HOLD = """
import fcntl, os, sys, time
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(handle, fcntl.LOCK_EX)
os.write(handle, f"{os.getpid()}\\n".encode())
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def owner(tmp_path):
    """Another process that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", HOLD, str(tmp_path / "lock")], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_process_is_refused_and_changes_nothing(tmp_path, owner):
    partial = tmp_path / ".partial-x"
    partial.write_bytes(b"")
    with pytest.raises(BusyError, match=rf"another process \({owner.pid}\)"):
        Lock(tmp_path)
    assert partial.exists()
    assert (tmp_path / "lock").read_text().strip() == str(owner.pid)


def test_a_lock_ends_with_its_owner(tmp_path, owner):
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    Lock(tmp_path).release()


def test_one_process_holds_a_run_once(tmp_path):
    lock = Lock(tmp_path)
    with pytest.raises(BusyError, match=rf"another process \({os.getpid()}\)"):
        Lock(tmp_path)
    lock.release()
    Lock(tmp_path).release()


def test_locking_removes_the_files_of_killed_writers(tmp_path):
    for folder in (tmp_path, tmp_path / "checkpoints"):
        folder.mkdir(exist_ok=True)
        (folder / ".partial-x").write_bytes(b"half")
    Lock(tmp_path).release()
    assert not list(tmp_path.rglob(".partial*"))


def test_a_lock_that_cannot_be_written_is_released(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(locks.os, "pwrite", full)
    with pytest.raises(UserError, match="lock cannot be used: No space left on device"):
        Lock(tmp_path)
    monkeypatch.undo()
    Lock(tmp_path).release()


def test_a_file_in_place_of_the_store_is_refused(tmp_path):
    (tmp_path / "runs").write_bytes(b"")
    with pytest.raises(UserError, match="cannot be used"):
        Lock(tmp_path / "runs" / "run")


@pytest.mark.parametrize("name", ["lock", "metrics.jsonl", "evaluation", "tensorboard"])
def test_a_run_with_a_link_is_not_locked(tmp_path: Path, name: str):
    run, outside = tmp_path / "run", tmp_path / "outside"
    run.mkdir()
    outside.write_text("precious")
    (run / name).symlink_to(outside)
    with pytest.raises(UserError, match=f"{name} is a link"):
        Lock(run)
    assert outside.read_text() == "precious"

"""A disk that is really full, or really read-only, is one sentence; with room, the run goes on."""

from pathlib import Path

import pytest

from randpos import UserError
from randpos import run as runs
from tests.disks import mount, small_disk
from tests.experiments import shared_engine, tiny


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", "64k") as folder:
        yield folder


def train(store: Path):
    return runs.train(tiny(steps=300), store=store, save_every=0.0)


def test_a_full_disk_is_a_sentence_and_then_the_run_goes_on(disk, monkeypatch):
    monkeypatch.setattr(runs, "Engine", shared_engine)
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(40 * 1024))
    with pytest.raises(UserError, match="cannot be used: No space left on device"):
        train(disk / "runs")
    assert not list(disk.rglob(".partial*"))
    ballast.unlink()
    assert [row["step"] for row in train(disk / "runs").metrics()] == [100, 200, 300]


def test_a_read_only_disk_is_a_sentence(disk, monkeypatch):
    monkeypatch.setattr(runs, "Engine", shared_engine)
    assert mount(disk, "remount,ro")
    with pytest.raises(UserError, match="cannot be used: Read-only file system"):
        train(disk / "runs")

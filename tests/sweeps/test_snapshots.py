"""A run's folder as bytes: taken while it is written to, and never put anywhere else."""

import pytest

from randpos.errors import StorageError
from randpos.sweeps import snapshots
from randpos.sweeps.snapshots import read_snapshot, write_snapshot

FILES = {
    "config.json": b"{}",
    "environment.json": b"{}",
    "metrics.jsonl": b"1\n2\n",
    "timing.jsonl": b"1\n",
    "checkpoints/step-000000100.json": b"sidecar",
    "checkpoints/step-000000100.safetensors": b"arrays",
}
ENDED = {
    "model.safetensors": b"parameters",
    "result.json": b"complete",
    "evaluation/batch500-abc.parquet": b"accuracies",
}


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def read(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("files", [FILES, FILES | ENDED])
def test_what_is_taken_and_put_is_the_same(tmp_path, files):
    write(tmp_path / "here", files)
    write(tmp_path / "here", {"lock": b"1", ".partial-1": b"", "checkpoints/.partial-2": b""})
    assert read_snapshot(tmp_path / "here") == files
    write_snapshot(files, tmp_path / "there")
    ended = "result.json" in files
    wanted = {k: v for k, v in files.items() if not (ended and k.startswith("checkpoints/"))}
    assert read(tmp_path / "there") == wanted


def test_a_folder_that_is_not_there_is_empty(tmp_path):
    assert read_snapshot(tmp_path / "none") == {}
    write_snapshot({}, tmp_path / "none")


def test_checkpoints_that_are_gone_are_removed_and_the_lock_stays(tmp_path):
    old = {"checkpoints/step-000000050.json": b"", "checkpoints/step-000000050.safetensors": b""}
    write(tmp_path, FILES | old | {"lock": b"1"})
    write_snapshot(FILES, tmp_path)
    assert read(tmp_path) == FILES | {"lock": b"1"}


def test_without_any_checkpoint_the_old_ones_stay(tmp_path):
    write(tmp_path, FILES)
    write_snapshot(
        {name: data for name, data in FILES.items() if "checkpoints" not in name}, tmp_path
    )
    assert read(tmp_path) == FILES


def test_an_ended_run_has_no_checkpoints(tmp_path):
    write(tmp_path, FILES | {"checkpoints/damaged-step-000000002.json": b""})
    write_snapshot(FILES | ENDED, tmp_path)
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize("gone", ["json", "safetensors"])
def test_half_a_checkpoint_is_left_out(tmp_path, gone):
    write(tmp_path, FILES)
    (tmp_path / f"checkpoints/step-000000100.{gone}").unlink()
    assert read_snapshot(tmp_path) == {k: v for k, v in FILES.items() if "checkpoints" not in k}


def test_what_a_checkpoint_relies_on_is_read_after_it(tmp_path, monkeypatch):
    """The run goes on writing after every file that is read: what was taken still fits."""
    write(tmp_path, FILES)

    class Busy(list):
        def __reversed__(self):
            for path in super().__reversed__():
                yield path
                with (tmp_path / "metrics.jsonl").open("ab") as file:
                    file.write(b"more\n")

    listed = Busy(snapshots.in_order(tmp_path))
    monkeypatch.setattr(snapshots, "in_order", lambda folder: listed)
    taken = read_snapshot(tmp_path)
    names = list(taken)
    assert names.index("checkpoints/step-000000100.json") < names.index("metrics.jsonl")
    assert names.index("checkpoints/step-000000100.json") < names.index(
        "checkpoints/step-000000100.safetensors"
    )
    assert taken["metrics.jsonl"].startswith(FILES["metrics.jsonl"] + b"more\n")


@pytest.mark.parametrize(
    "name", ["../outside", "/tmp/outside-randpos", "a/../../outside", "..", ".", "", "away/file"]
)
def test_nothing_is_written_outside_of_the_folder(tmp_path, name):
    folder, away = tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    away.mkdir()
    (folder / "away").symlink_to(away)
    write_snapshot({name: b"evil", "config.json": b"{}"}, folder)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "away",
        "config.json",
        "elsewhere",
        "run",
    ]


def test_nothing_is_removed_outside_of_the_folder(tmp_path):
    folder, away = tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    write(away, {"step-000000001.json": b"precious"})
    (folder / "checkpoints").symlink_to(away)
    write_snapshot(FILES, folder)
    write_snapshot(FILES | ENDED, folder)
    assert read(away) == {"step-000000001.json": b"precious"}


def test_a_link_to_a_file_outside_is_neither_followed_nor_taken(tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    write(tmp_path / "run", {"config.json": b"{}"})
    (tmp_path / "run" / "result.json").symlink_to(tmp_path / "secret")
    assert read_snapshot(tmp_path / "run") == {"config.json": b"{}"}
    write_snapshot({"result.json": b"evil"}, tmp_path / "run")
    assert (tmp_path / "secret").read_bytes() == b"secret"


def test_a_file_in_the_way_is_a_sentence(tmp_path):
    (tmp_path / "run").write_bytes(b"")
    with pytest.raises(StorageError, match="cannot be used"):
        write_snapshot(FILES, tmp_path / "run")

"""Trackers: what is logged reads back, and a missing library is one sentence."""

import os
import socket
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from randpos import UserError
from randpos.training.tracking import TRACKERS, TensorBoard, WandB
from tests.experiments import tiny

VALUES = [(100, {"loss": 0.5, "accuracy": 0.25}), (200, {"loss": 0.125, "accuracy": 1.0})]


def records(path: Path) -> list[bytes]:
    """The records of a TFRecord file: length, checksum, content, checksum."""
    content, place, found = path.read_bytes(), 0, []
    while place < len(content):
        (length,) = struct.unpack_from("<Q", content, place)
        found.append(content[place + 12 : place + 12 + length])
        place += 16 + length
    return found


def test_tensorboard_files_read_back(tmp_path):
    from tensorboardX.proto.event_pb2 import Event  # type: ignore[attr-defined]

    tracker = TensorBoard(tiny(), tmp_path)
    for step, values in VALUES:
        tracker.log(step, values)
    tracker.close()
    (path,) = (tmp_path / "tensorboard").iterdir()
    found = {}
    for record in records(path):
        event = Event.FromString(record)
        for value in event.summary.value:
            found[event.step, value.tag] = value.simple_value
    assert found == {(step, tag): x for step, values in VALUES for tag, x in values.items()}


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """A wandb that may write to one folder only, and reach nobody."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    for name in ("DIR", "CACHE_DIR", "CONFIG_DIR", "DATA_DIR", "ARTIFACT_DIR"):
        monkeypatch.setenv(f"WANDB_{name}", str(tmp_path / "wandb"))
    asked: list[object] = []
    inner = socket.socket.connect

    def connect(self, address):
        local = self.family == socket.AF_UNIX or address[0] in ("127.0.0.1", "localhost", "::1")
        if not local:
            asked.append(address)
            raise OSError("no network in this test")
        return inner(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    yield tmp_path
    assert asked == []


def log_records(path: Path) -> list[bytes]:
    """The records of a wandb file: LevelDB's log format after a header of seven bytes."""
    content, place, found = path.read_bytes(), 7, []
    while place + 7 <= len(content):
        left = 2**15 - place % 2**15
        if left < 7:
            place += left
            continue
        length, kind = struct.unpack_from("<xxxxHB", content, place)
        data = content[place + 7 : place + 7 + length]
        if kind in (1, 2):  # a whole record, or the first part of one
            found.append(data)
        else:
            found[-1] += data
        place += 7 + length
    return found


def logged(folder: Path) -> dict[str, list[dict[str, float]]]:
    """The rows in every offline run below a folder, by the run's id."""
    from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]

    found = {}
    for path in folder.rglob("run-*.wandb"):
        rows = []
        for data in log_records(path):
            record = Record.FromString(data)
            if record.HasField("history"):
                items = record.history.item
                rows.append({i.key or i.nested_key[0]: float(i.value_json) for i in items})
        found[path.stem.removeprefix("run-")] = rows
    return found


def test_wandb_gets_a_run_for_each_member_and_every_value_at_its_step(monkeypatch, tmp_path):
    """A library in its place tells what it was asked; with the real one it takes ten seconds."""
    began, said = [], []

    def init(**settings):
        began.append(settings)
        log = lambda values, step: said.append((settings["id"], step, values))  # noqa: E731
        return SimpleNamespace(log=log, finish=lambda: said.append((settings["id"], "end")))

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    members = [tiny(seed=0), tiny(seed=1)]
    trackers = [WandB(experiment, tmp_path) for experiment in members]
    for step, values in VALUES:
        for tracker in trackers:
            tracker.log(step, values)
    for tracker in trackers:
        tracker.close()
    ids = [experiment.digest for experiment in members]
    assert [(run["id"], run["config"]) for run in began] == [
        (e.digest, e.to_dict()) for e in members
    ]
    assert {(run["dir"], run["reinit"]) for run in began} == {(str(tmp_path), "create_new")}
    logged_there = [(name, step, values) for step, values in VALUES for name in ids]
    assert said == [*logged_there, *((name, "end") for name in ids)]


# wandb leaves files of its own service open for the interpreter to close.
@pytest.mark.slow  # its service takes ten seconds to start and to end
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_wandb_offline_keeps_one_run_per_member(offline):
    wandb = pytest.importorskip("wandb")
    members = [tiny(seed=0), tiny(seed=1)]
    for experiment in members:
        (offline / experiment.digest).mkdir()
    trackers = [WandB(experiment, offline / experiment.digest) for experiment in members]
    for number, tracker in enumerate(trackers):
        for step, values in VALUES:
            tracker.log(step, {**values, "member": float(number)})
    for tracker in trackers:
        tracker.close()
    wandb.teardown()  # its own process writes the files, after the runs are closed
    found = logged(offline)
    assert set(found) == {experiment.digest for experiment in members}
    for number, experiment in enumerate(members):
        assert [row["_step"] for row in found[experiment.digest]] == [100, 200]
        assert {row["member"] for row in found[experiment.digest]} == {float(number)}
        assert [row["loss"] for row in found[experiment.digest]] == [0.5, 0.125]


@pytest.mark.parametrize(("name", "module"), [("tensorboard", "tensorboardX"), ("wandb", "wandb")])
def test_a_missing_library_is_one_sentence(name, module, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=rf"--track {name} needs .*randpos\[tracking\]"):
        TRACKERS[name](tiny(), tmp_path)
    assert not os.listdir(tmp_path)

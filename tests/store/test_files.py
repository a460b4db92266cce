"""Files are whole or not there, and failures of the file system are sentences."""

import errno
import os
import stat
from pathlib import Path

import pytest

from randpos import UserError
from randpos.store import files
from randpos.store.files import read_json, sweep_temporaries, write_atomic, write_json


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "deep" / "er" / "file"
    for content in (b"one", b"two, longer", b""):
        write_atomic(path, content)
        assert path.read_bytes() == content
    assert names(path.parent) == ["file"]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), None])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failing, error):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_):
        raise error or KeyboardInterrupt

    monkeypatch.setattr(files.os, failing, fail)
    with pytest.raises(UserError if error else KeyboardInterrupt):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_content_is_on_the_disk_before_it_is_renamed(tmp_path, monkeypatch):
    calls = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(files.os, "fsync", lambda fd: (calls.append("sync"), sync(fd)))
    monkeypatch.setattr(files.os, "replace", lambda *a: (calls.append("rename"), replace(*a)))
    write_atomic(tmp_path / "file", b"x")
    assert calls == ["sync", "rename", "sync"]


def test_files_may_be_read_by_whom_the_umask_allows(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "file", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_a_full_disk_is_a_sentence(tmp_path):
    # A device that is always full.
    with pytest.raises(UserError, match="No space left on device"), files.explained(tmp_path):
        Path("/dev/full").write_bytes(b"x")


def test_a_file_in_the_way_of_a_folder_is_a_sentence(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match=r"file/deeper cannot be used: .*\.$"):
        write_atomic(tmp_path / "file" / "deeper", b"x")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("pipe", "is not a regular file"),
        ("link", "is a link; name the file"),
        ("dangling", "is a link; name the file"),
        ("loop", "is a link; name the file"),
        ("folder", r"cannot be used: .*directory"),
    ],
)
def test_what_is_no_file_is_not_replaced(tmp_path, kind, message):
    path, target = tmp_path / "out", tmp_path / "target"
    target.write_bytes(b"precious")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to({"link": target, "dangling": tmp_path / "nowhere", "loop": path}[kind])
    before = path.lstat()
    with pytest.raises(UserError, match=message):
        write_atomic(path, b"new")
    assert path.lstat() == before
    assert target.read_bytes() == b"precious"
    assert names(tmp_path) == ["out", "target"]


def test_what_killed_writers_left_is_swept_and_nothing_else(tmp_path):
    (tmp_path / "inner").mkdir()
    for path in (tmp_path, tmp_path / "inner"):
        (path / f"{files.TEMPORARY}123").write_bytes(b"half")
        (path / "kept").write_bytes(b"")
    sweep_temporaries(tmp_path)
    assert names(tmp_path) == ["inner", "kept"]
    assert names(tmp_path / "inner") == ["kept"]


def test_plain_data_survives_json(tmp_path):
    data = {"b": [1, 2.5, None], "a": "é"}
    write_json(tmp_path / "x.json", data)
    assert read_json(tmp_path / "x.json") == data


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"[" * 100_000])
def test_damaged_json_is_named(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(UserError, match=r"x\.json is damaged"):
        read_json(tmp_path / "x.json")


def test_missing_json_is_named(tmp_path):
    with pytest.raises(UserError, match=r"x\.json cannot be used: No such file"):
        read_json(tmp_path / "x.json")

"""Atomic files: a reader sees the old content or the new one, even if the writer is killed."""

import contextlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from randpos.errors import StorageError, UserError

TEMPORARY = ".partial-"


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raises an `OSError` as a `StorageError` that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{path} cannot be used: {reason}.") from error


def read_file(path: Path) -> bytes:
    """Reads a regular file; a pipe or a device is refused without waiting for it."""
    with explained(path), open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is not a regular file")
        return file.read()


def write_atomic(path: Path, content: bytes) -> None:
    """Writes to a temporary file, syncs it, and renames it over the old one.

    A pipe, a device or a link is refused because renaming would replace it.
    """
    with explained(path):
        if path.is_symlink():
            raise OSError("it is a link; name the file that it points to")
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError("it is not a regular file")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not tempfile: its files are private, but a group may share a store.
        name = path.parent / f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(4)}"
        try:
            with name.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Syncs a folder, so that a rename in it survives a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refuse_links(*paths: Path) -> None:
    """Raises `UserError` if a path is a link: a run's files must stay inside its store."""
    for path in paths:
        if path.is_symlink():
            raise UserError(
                f"{path} is a link, which a run must not contain; replace it by its target."
            )


def open_no_link(path: str | Path, flags: int) -> int:
    """Opens a file without following a link and without waiting at a pipe; an `opener`."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)


def sweep_temporaries(folder: Path) -> None:
    """Removes temporary files of killed writers; the caller holds the run's lock."""
    for path in folder.rglob(f"{TEMPORARY}*"):
        path.unlink(missing_ok=True)


def write_json(path: Path, data: Any) -> None:
    """Writes plain data as JSON, atomically."""
    write_atomic(path, (json.dumps(data, indent=1, sort_keys=True) + "\n").encode())


def read_json(path: Path) -> Any:
    """Reads JSON; raises `UserError` if the file is missing or damaged."""
    try:
        return json.loads(read_file(path))
    except StorageError:
        raise
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: it is not valid JSON ({error}).") from error

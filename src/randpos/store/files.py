"""Writing files so that a reader never meets half of one, whatever is killed when."""

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
    """Turns a failure of the file system into a sentence that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{path} cannot be used: {reason}.") from error


def read_file(path: Path) -> bytes:
    """Reads a file; what is none, such as a pipe or a device, is refused and not waited for."""
    with explained(path), open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is not a regular file")
        return file.read()


def write_atomic(path: Path, content: bytes) -> None:
    """Writes a whole file or none: to a temporary file, synced, then renamed over the old one.

    A pipe, a device or a link is refused: renaming would replace it, and the system's /dev/null or
    what somebody set up with a link would be gone.
    """
    with explained(path):
        if path.is_symlink():
            raise OSError("it is a link; name the file that it points to")
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError("it is not a regular file")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not from tempfile, whose files nobody else may read: a run is for the group to see.
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
    """Makes a rename in the folder survive a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep_temporaries(folder: Path) -> None:
    """Removes what killed writers left behind; call it only while holding the run's lock."""
    for path in folder.rglob(f"{TEMPORARY}*"):
        path.unlink(missing_ok=True)


def write_json(path: Path, data: Any) -> None:
    """Writes plain data as JSON, atomically."""
    write_atomic(path, (json.dumps(data, indent=1, sort_keys=True) + "\n").encode())


def read_json(path: Path) -> Any:
    """Reads JSON; a file that is missing or damaged is a `UserError` that names it."""
    try:
        return json.loads(read_file(path))
    except StorageError:
        raise
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: it is not valid JSON ({error}).") from error

"""Locks: at most one process works on a run."""

import fcntl
import os
from pathlib import Path

from randpos.errors import UserError
from randpos.store.files import explained, open_no_link, refuse_links, sweep_temporaries


class BusyError(UserError):
    """Another process works on the run."""


class Lock:
    """Holds the lock of a run's folder until `release`, or until the process ends.

    Taking it removes the temporary files that killed writers left in the folder.

    Raises:
        BusyError: Another process holds the lock.
        UserError: The folder contains a link.
    """

    def __init__(self, folder: Path) -> None:
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
            refuse_links(folder, *folder.iterdir())
            self.handle = open_no_link(folder / "lock", os.O_RDWR | os.O_CREAT)
        try:
            with explained(folder / "lock"):
                self._acquire(folder)
        except BaseException:
            os.close(self.handle)
            raise

    def _acquire(self, folder: Path) -> None:
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(self.handle, 32).decode(errors="replace").strip() or "unknown"
            raise BusyError(
                f"{folder} is being trained by another process ({owner}); wait for it or stop it."
            ) from error
        if not os.fstat(self.handle).st_nlink:  # Deleted: others lock a new file.
            raise BusyError(f"{folder} is being removed by another process; wait for it.")
        os.ftruncate(self.handle, 0)
        os.pwrite(self.handle, f"{os.getpid()}\n".encode(), 0)
        sweep_temporaries(folder)

    def release(self) -> None:
        """Releases the lock."""
        os.close(self.handle)

"""Small disks of their own, to be full or read-only, where the system lets a test have one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def mount(folder: Path, options: str) -> bool:
    """Mounts a disk in memory; returns whether this user may."""
    line = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    try:
        return subprocess.run(line, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A disk of this size at a new folder; without the right to mount one, the test is skipped."""
    folder.mkdir()
    if not mount(folder, f"size={size}"):
        pytest.skip("this user may not mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)

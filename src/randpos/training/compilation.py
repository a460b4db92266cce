"""JAX's persistent compilation cache, compiling once across processes, and the hook that shows it.

Processes that need the same program at the same time share one compilation: the first one holds a
lock on a file beside the cache, the others wait and then read the program from the cache. Without a
cache on a writable local folder there is nothing to share, and each process compiles for itself.
"""

import contextlib
import fcntl
import os
import time
import warnings
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import jax

LOCKS = 64
"""Lock files beside the cache. Two programs that share one wait for each other needlessly."""
PATIENCE = 600.0
"""Seconds after which a process no longer waits for another one: it may have been suspended."""

Compiling = Callable[[str], AbstractContextManager[None]]
"""Takes a description of a program; the context is open while the program is compiled."""


def silent(_: str) -> AbstractContextManager[None]:
    """Shows nothing while a program is compiled."""
    return contextlib.nullcontext()


def cache_folder() -> Path:
    """Returns where compiled programs are kept: `$RANDPOS_CACHE`, or the user's cache folder."""
    if chosen := os.environ.get("RANDPOS_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "randpos" / "xla"


def enable_cache() -> None:
    """Turns the cache on, unless the user chose another; without a writable folder, warns."""
    if getattr(jax.config, "jax_compilation_cache_dir", None) is not None:
        return
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        warnings.warn(f"{folder} is not writable: compiled programs are not kept.", stacklevel=2)
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


def compile_once(program: jax.stages.Wrapped, *arguments: Any) -> jax.stages.Compiled:
    """Compiles a program for these arguments, unless another process is about to.

    In that case it waits, and the program comes from the cache. Calling the program afterwards
    compiles nothing. The lock is held while XLA compiles; tracing happens before.
    """
    lowered = program.lower(*arguments)
    with contextlib.ExitStack() as stack:
        handle = open_lock(lowered.as_text())
        if handle is not None:
            stack.callback(os.close, handle)  # also releases the lock, as the end of a process does
            wait_for_turn(handle)
        compiled = lowered.compile()
        if handle is not None:
            with contextlib.suppress(OSError):  # a full disk; the others then compile in turn
                os.utime(handle)
    return compiled


def open_lock(program: str) -> int | None:
    """Opens the lock file of a program; returns None if there is no cache to put it in."""
    cache = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    if cache is None or not jax.config.jax_enable_compilation_cache:  # type: ignore[attr-defined]
        return None
    number = zlib.crc32(program.encode()) % LOCKS
    try:
        folder = Path(cache) / "locks"
        folder.mkdir(exist_ok=True)
        return os.open(folder / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:  # no such folder, read-only, or the address of a remote cache
        return None


def wait_for_turn(handle: int) -> None:
    """Takes the lock; releases it at once if another process has compiled in the meantime.

    The time of the file tells: a process that was killed while it compiled did not set it, and
    then this process compiles. After `PATIENCE` seconds, or where the file system has no locks, it
    goes on without.
    """
    before, deadline = os.fstat(handle).st_mtime_ns, time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
            continue
        except OSError:
            return
        if os.fstat(handle).st_mtime_ns != before:
            fcntl.flock(handle, fcntl.LOCK_UN)
        return

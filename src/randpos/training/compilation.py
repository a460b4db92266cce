"""JAX's persistent compilation cache, and the hook that shows when a program is compiled."""

import contextlib
import os
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import jax

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
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)

"""Compiling: JAX's persistent cache, so that a second run starts at once, and who is told."""

import contextlib
import os
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import jax

Compiling = Callable[[str], AbstractContextManager[None]]
"""Entered while a program is compiled, with a few words that say which one."""


def silent(_: str) -> AbstractContextManager[None]:
    """Tells nobody that a program is compiled."""
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

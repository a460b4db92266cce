"""Facts of tasks and encodings for listings, kept in a cache: computing them loads JAX.

The cache is valid for exactly this source code: its key is a hash of all files of the package.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import randpos
from randpos.store.files import write_atomic

Rows = list[dict[str, Any]]


def cached_rows(name: str, compute: Callable[[], Rows]) -> Rows:
    """Returns the rows of a listing from the cache, or computes and keeps them.

    Args:
        name: The listing.
        compute: Returns the rows as plain data.
    """
    path = cache_folder() / f"{name}-{source_digest()}.json"
    with contextlib.suppress(OSError, ValueError):  # missing or damaged: computed again
        return json.loads(path.read_text())
    rows = compute()
    with contextlib.suppress(OSError, ValueError):  # not writable: computed every time
        write_atomic(path, json.dumps(rows).encode())
    return rows


def cache_folder() -> Path:
    """Returns where listings are kept: in `$RANDPOS_CACHE`, or the user's cache folder."""
    base = os.environ.get("RANDPOS_CACHE")
    if base is None:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "randpos"
    return Path(base) / "listings"


def source_digest() -> str:
    """Returns a hash of the package's source files."""
    digest = hashlib.sha256()
    root = Path(randpos.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]

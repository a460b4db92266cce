"""The environment that a run was computed in: versions, device and commit."""

import importlib.metadata
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from randpos.bits import VERSION

PACKAGES = ("randpos", "jax", "jaxlib", "equinox", "optax", "numpy")
SOURCE = Path(__file__).parents[1]


def environment() -> dict[str, Any]:
    """Returns the versions of Python and of the packages, the device, and the commit if known."""
    import jax  # here: reading a store does not need it

    return {
        "numerics": VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "machine": platform.machine(),
        "device": jax.devices()[0].device_kind,
        "backend": jax.default_backend(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "commit": commit(),
    }


@cache
def commit() -> str | None:
    """Returns the commit of the checkout that the package runs from, or None if it is installed."""
    command = ["git", "-C", str(SOURCE), "rev-parse", "--show-toplevel", "HEAD"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    top, commit = output.stdout.splitlines()
    # A virtual environment may lie inside another repository.
    return commit if Path(top) / "src" / "randpos" == SOURCE else None

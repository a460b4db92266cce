"""Sweeps in real processes: started, watched, killed, and compared file by file."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from randpos.paper.slices import Slice
from randpos.store.files import TEMPORARY
from randpos.sweeps.grid import read_grid

GRID = """
[fixed]
task = "reverse_string"
encoding = "randomized-sincos"
steps = {steps}
batch = 8
learning_rate = 0.01
test_length = 6
positions.maximum = 32
model = {{layers = 1, heads = 2, dim = 8, hidden = 8}}
lengths = {{name = "fixed", maximum = 4}}
evaluation = {{batch = 16}}
[axes]
seed = {seeds}
"""
PATIENCE = 900.0
"""Seconds after which something hangs, also on a machine that is busy with other work."""


def environment(cache: Path, **more: str) -> dict[str, str]:
    """Where all programs are kept once they are compiled, however small."""
    kept = {
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_PLATFORMS": "cpu",
    }
    return {**os.environ, **kept, **more}


class Command:
    """`randpos sweep` of tiny runs into a store."""

    def __init__(
        self,
        store: Path,
        cache: Path,
        *flags: str,
        seeds: int = 4,
        steps: int = 1000,
        grid: str = "",
        more: dict[str, str] | None = None,
    ) -> None:
        self.store = store
        self.file = store.parent / f"{store.name}.toml"
        self.file.write_text(grid or GRID.format(steps=steps, seeds=list(range(seeds))))
        where = ["--store", str(store), "--save-every", "0", *flags]
        self.line = [sys.executable, "-m", "randpos.cli.main", "sweep", str(self.file), *where]
        self.environment = environment(cache, **(more or {}))
        if "PYTHONPATH" in os.environ and more and "PYTHONPATH" in more:
            both = more["PYTHONPATH"], os.environ["PYTHONPATH"]
            self.environment["PYTHONPATH"] = os.pathsep.join(both)

    def experiments(self):
        return Slice().expand(read_grid(self.file))

    def start(self, *flags: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.line, *flags],
            env=self.environment,
            cwd=self.store.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, *flags: str, code: int = 0) -> str:
        """Runs it to the end, and returns what it said."""
        return end(self.start(*flags), code)

    def progress(self) -> int:
        """How many lines of metrics there are, of all runs."""
        return sum(path.read_bytes().count(b"\n") for path in self.store.glob("*/metrics.jsonl"))

    def wait_for(self, process: subprocess.Popen[str], lines: int) -> None:
        """Waits until the runs have written a number of lines, or all has ended."""
        wait(lambda: process.poll() is not None or self.progress() >= lines)


def wait(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.005)


def end(process: subprocess.Popen[str], code: int = 0) -> str:
    """Waits for the end of a process, and returns what it said on the way."""
    try:
        out, said = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        out, said = process.communicate()
    assert process.returncode == code, out + said
    assert "Traceback" not in said
    return said


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes that a driver has started."""
    try:
        output = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        threads = Path(f"/proc/{process.pid}/task").iterdir()
        output += "".join((thread / "children").read_text() for thread in threads)
    except (FileNotFoundError, ProcessLookupError):
        return []
    return sorted({int(pid) for pid in output.split()})


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def outcome(store: Path) -> dict[str, dict[str, Any]]:
    """All that a sweep is for: parameters, metrics, accuracies and how each run ended."""
    found = {}
    for folder in sorted(path for path in store.iterdir() if path.is_dir()):
        result = json.loads((folder / "result.json").read_bytes())
        assert result.pop("seconds") >= 0
        files = ("config.json", "model.safetensors", "metrics.jsonl")
        tested = {path.name: path.read_bytes() for path in folder.glob("evaluation/*")}
        contents = {name: (folder / name).read_bytes() for name in files}
        found[folder.name] = contents | tested | {"result": result}
    return found


def leftovers(store: Path) -> list[Path]:
    """Temporary files, checkpoints and failures, of which a finished sweep leaves none."""
    names = (f"{TEMPORARY}*", "checkpoints", "failure.json")
    return [path for name in names for path in store.rglob(name)]

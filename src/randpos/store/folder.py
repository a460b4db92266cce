"""Run directories: one folder per run, named by the digest of its experiment.

<store>/<digest>/config.json           the experiment
                 environment.json      versions, device and commit
                 checkpoints/          to continue from; gone once the run is complete
                 metrics.jsonl         loss and accuracy, one line per chunk of steps
                 timing.jsonl          seconds of training so far, likewise
                 model.safetensors     the trained parameters
                 result.json           how the run ended, with its learning curve; written last
                 failure.json          instead, if it failed: why; retrying removes it
                 evaluation/           accuracy per length, one Parquet file per way of testing
"""

import fcntl
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax

from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.store.files import (
    explained,
    read_file,
    read_json,
    sweep_temporaries,
    write_atomic,
    write_json,
)

FORMAT = 1


@dataclass(frozen=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        """Where checkpoints are kept while the run is under way."""
        return self.path / "checkpoints"

    @property
    def parameters(self) -> Path:
        """The trained parameters."""
        return self.path / "model.safetensors"

    def experiment(self) -> Experiment:
        """Reads the run's experiment, refusing a format newer than this program knows."""
        return Experiment.from_dict(self.settings())

    def settings(self) -> Any:
        """Reads the run's experiment as plain data, which may still be anything."""
        if not (self.path / "config.json").is_file():
            raise UserError(f"{self.path} is not a run: it has no config.json.")
        refuse_links(self.path, self.path / "evaluation", self.checkpoints)
        data = read_json(self.path / "config.json")
        if not isinstance(data, dict) or not isinstance(data.get("format"), int):
            raise UserError(f"{self.path / 'config.json'} is damaged: it names no format.")
        if data["format"] > FORMAT:
            raise UserError(
                f"{self.path} was written in format {data['format']}, but this version of randpos "
                f"reads up to {FORMAT}; install a newer randpos."
            )
        return data.get("experiment")

    def create(self, experiment: Experiment) -> None:
        """Writes the experiment and the environment, unless they are there."""
        if not (self.path / "config.json").exists():
            write_json(self.path / "environment.json", environment())
            data = {
                "format": FORMAT,
                "digest": experiment.digest,
                "experiment": experiment.to_dict(),
            }
            write_json(self.path / "config.json", data)

    def result(self) -> dict[str, Any] | None:
        """Returns how the run ended, or None if it has not."""
        path = self.path / "result.json"
        if not path.exists():
            return None
        data = read_json(path)
        if not isinstance(data, dict) or data.get("status") not in ("complete", "diverged"):
            raise UserError(f"{path} is damaged: it does not say how the run ended.")
        return data

    def finish(self, result: dict[str, Any]) -> None:
        """Records how the run ended; from now on it is never trained again."""
        write_json(self.path / "result.json", result)

    def failure(self) -> str | None:
        """Returns why the run failed, or None if it did not."""
        path = self.path / "failure.json"
        if not path.exists():
            return None
        data = read_json(path)
        return str(data.get("reason")) if isinstance(data, dict) else "for an unknown reason"

    def fail(self, reason: str) -> None:
        """Records why the run failed: it is not tried again until somebody asks for that."""
        write_json(self.path / "failure.json", {"reason": reason})

    def forgive(self) -> None:
        """Lets a failed run be tried again."""
        with explained(self.path):
            (self.path / "failure.json").unlink(missing_ok=True)

    def drop_checkpoints(self) -> None:
        """Removes the checkpoints of a run that has ended."""
        shutil.rmtree(self.checkpoints, ignore_errors=True)

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Reads a file of JSON lines, up to the first line that a killed writer left unfinished."""
        path = self.path / name
        rows: list[dict[str, Any]] = []
        if path.exists():
            for line in read_file(path).decode(errors="replace").splitlines():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    break
                if not isinstance(row, dict) or type(row.get("step")) is not int:
                    break
                if not all(_is_number(value) for value in row.values()):
                    break
                rows.append(row)
        return rows

    def append(self, name: str, row: dict[str, Any]) -> None:
        """Adds one JSON line, on the disk before any checkpoint that comes after it."""
        path = self.path / name
        with explained(path), open(path, "a", opener=_no_link) as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def rewind(self, name: str, step: int) -> None:
        """Drops the lines of steps after `step`: a resumed run writes them again."""
        kept = [row for row in self.lines(name) if row["step"] <= step]
        write_atomic(self.path / name, "".join(json.dumps(r) + "\n" for r in kept).encode())

    def lock(self) -> "Lock":
        """Claims the run for this process; a second process is refused."""
        return Lock(self.path)


class BusyError(UserError):
    """A run that another process works on."""


def refuse_links(*paths: Path) -> None:
    """Refuses links: what is written to a run must stay in its store."""
    for path in paths:
        if path.is_symlink():
            raise UserError(
                f"{path} is a link, which no run may have; put what it points to there."
            )


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 2**63)


def _no_link(path: str | Path, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)


class Lock:
    """A run claimed by one process, until it is released or the process ends."""

    def __init__(self, folder: Path) -> None:
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
            refuse_links(folder, *folder.iterdir())
            self.handle = _no_link(folder / "lock", os.O_RDWR | os.O_CREAT)
        try:
            with explained(folder / "lock"):
                self._claim(folder)
        except BaseException:
            os.close(self.handle)
            raise

    def _claim(self, folder: Path) -> None:
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(self.handle, 32).decode(errors="replace").strip() or "unknown"
            raise BusyError(
                f"{folder} is being trained by another process ({owner}); wait for it or stop it."
            ) from error
        if not os.fstat(self.handle).st_nlink:  # a lock on a file that is gone keeps nobody out
            raise BusyError(f"{folder} is being removed by another process; wait for it.")
        os.ftruncate(self.handle, 0)
        os.pwrite(self.handle, f"{os.getpid()}\n".encode(), 0)
        sweep_temporaries(folder)

    def release(self) -> None:
        """Gives the run free."""
        os.close(self.handle)


@dataclass(frozen=True)
class Store:
    """A folder of runs."""

    path: Path

    def run(self, experiment: Experiment) -> RunFolder:
        """Returns the folder of an experiment's run, whether it exists or not."""
        return self.run_at(experiment.digest)

    def run_at(self, digest: str) -> RunFolder:
        """Returns the folder of the run with this digest, whether it exists or not."""
        return RunFolder(self.path / digest)

    def runs(self) -> Iterable[RunFolder]:
        """Lists the runs that are there."""
        if self.path.is_dir():
            for folder in sorted(self.path.iterdir()):
                if (folder / "config.json").is_file():
                    yield RunFolder(folder)

    def find(self, name: str) -> RunFolder:
        """Returns the run whose path or unique beginning of a digest is `name`."""
        if (Path(name) / "config.json").is_file():
            return RunFolder(Path(name).resolve())
        found = [run for run in self.runs() if run.path.name.startswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UserError(f"{name!r} fits {len(found)} runs in {self.path}; give more digits.")
        raise UserError(f"There is no run {name!r}: neither a folder nor a digest in {self.path}.")


def environment() -> dict[str, Any]:
    """Returns what the run was computed with."""
    packages = ("randpos", "jax", "jaxlib", "equinox", "optax", "numpy")
    return {
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "machine": platform.machine(),
        "device": jax.devices()[0].device_kind,
        "backend": jax.default_backend(),
        "packages": {name: importlib.metadata.version(name) for name in packages},
        "commit": _commit(),
    }


@cache
def _commit() -> str | None:
    """Returns the commit of a checkout that the package runs from, or None elsewhere."""
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "rev-parse", "--show-toplevel", "HEAD"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    top, commit = told.stdout.splitlines()
    # Installed into an environment inside of somebody else's repository, it is none of theirs.
    return commit if here == Path(top) / "src" / "randpos" else None

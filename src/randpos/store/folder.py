"""Run directories: one folder per run, named by the digest of its experiment.

<store>/<digest>/config.json           the experiment
                 environment.json      versions, device and commit
                 checkpoints/          to resume from; removed once the run has ended
                 metrics.jsonl         loss and accuracy, one line per chunk of steps
                 timing.jsonl          seconds of training so far, likewise
                 tests.jsonl           accuracies of tests during training, if they were asked for
                 lock                  held by the process that trains or tests the run
                 model.safetensors     the trained parameters
                 result.json           how the run ended, with its learning curve; written last
                 failure.json          the reason, if the run failed; retrying removes it
                 evaluation/           accuracy per length, one Parquet file per test setting
"""

import json
import os
import shutil
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from randpos.bits import VERSION
from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.store.environment import environment
from randpos.store.files import (
    explained,
    open_no_link,
    read_file,
    read_json,
    refuse_links,
    write_atomic,
    write_json,
)
from randpos.store.lock import Lock
from randpos.store.result import Result, Status, is_count, is_number, read_result, write_result

FORMAT = 1


@dataclass(frozen=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints, while the run has not ended."""
        return self.path / "checkpoints"

    @property
    def parameters(self) -> Path:
        """The file of the trained parameters."""
        return self.path / "model.safetensors"

    def experiment(self) -> Experiment:
        """Reads the run's experiment."""
        return Experiment.from_dict(self.settings())

    def settings(self) -> Any:
        """Reads the run's experiment as JSON, unchecked; a newer format is refused."""
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
        """Writes the experiment and the environment, or checks what an earlier process wrote."""
        if (self.path / "config.json").exists():
            self._compare_numerics()
        else:
            write_json(self.path / "environment.json", environment())
            data = {
                "format": FORMAT,
                "digest": experiment.digest,
                "experiment": experiment.to_dict(),
            }
            write_json(self.path / "config.json", data)

    def _compare_numerics(self) -> None:
        """Warns if the run was begun under another version of the numerics."""
        path = self.path / "environment.json"
        began = read_json(path) if path.exists() else {}
        version = began.get("numerics", 1) if isinstance(began, dict) else 1
        if version != VERSION:
            warnings.warn(
                f"{self.path.name} was begun under version {version} of the numerics and continues "
                f"under version {VERSION}: a valid run, but not bit-identical to one "
                "without the interruption.",
                stacklevel=2,
            )

    def result(self) -> Result | None:
        """Returns how the run ended; None if it has not ended."""
        return read_result(self.path / "result.json")

    def finish(self, result: Result) -> None:
        """Records how the run ended; it is never trained again."""
        write_result(self.path / "result.json", result)

    def failure(self) -> str | None:
        """Returns the reason why the run failed; None if it did not."""
        path = self.path / "failure.json"
        if not path.exists():
            return None
        data = read_json(path)
        return str(data.get("reason")) if isinstance(data, dict) else "for an unknown reason"

    def fail(self, reason: str) -> None:
        """Records why the run failed; it is not tried again until `clear_failure`."""
        write_json(self.path / "failure.json", {"reason": reason})

    def clear_failure(self) -> None:
        """Removes the record of a failure, so that the run is tried again."""
        with explained(self.path):
            (self.path / "failure.json").unlink(missing_ok=True)

    def status(self) -> Status:
        """Returns the state of the run."""
        result = self.result()
        if result is not None:
            return result.status
        return "unfinished" if self.failure() is None else "failed"

    def drop_checkpoints(self) -> None:
        """Removes the checkpoints; the run has ended."""
        shutil.rmtree(self.checkpoints, ignore_errors=True)

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Reads a file of JSON lines up to the first incomplete line, which a kill may leave."""
        path = self.path / name
        rows: list[dict[str, Any]] = []
        if path.exists():
            for line in read_file(path).decode(errors="replace").splitlines():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    break
                if not _is_row(row):
                    break
                rows.append(row)
        return rows

    def append(self, name: str, row: dict[str, Any]) -> None:
        """Adds one JSON line and syncs it, so that later checkpoints never run ahead of it."""
        path = self.path / name
        with explained(path), open(path, "a", opener=open_no_link) as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def rewind(self, name: str, step: int) -> None:
        """Drops the lines of steps after `step`; a resumed run writes them again."""
        if not (self.path / name).exists():
            return
        kept = [row for row in self.lines(name) if row["step"] <= step]
        write_atomic(self.path / name, "".join(json.dumps(r) + "\n" for r in kept).encode())

    def lock(self) -> Lock:
        """Takes the run's lock; raises `BusyError` if another process holds it."""
        return Lock(self.path)


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
        """Yields the runs that exist, by digest."""
        if self.path.is_dir():
            for folder in sorted(self.path.iterdir()):
                if (folder / "config.json").is_file():
                    yield RunFolder(folder)

    def find(self, name: str) -> RunFolder:
        """Returns the run at the path `name`, or the one whose digest starts with `name`."""
        if (Path(name) / "config.json").is_file():
            return RunFolder(Path(name).resolve())
        found = [run for run in self.runs() if run.path.name.startswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UserError(f"{name!r} fits {len(found)} runs in {self.path}; give more digits.")
        raise UserError(f"There is no run {name!r}: neither a folder nor a digest in {self.path}.")


def _is_row(row: Any) -> bool:
    """Returns whether a line holds a step and numbers only."""
    return isinstance(row, dict) and is_count(row.get("step")) and all(map(is_number, row.values()))

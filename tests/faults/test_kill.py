"""A run that is killed again and again, in real processes, ends like one that never was."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from randpos import Schedule, train
from randpos.store.folder import Store
from tests.experiments import COMPLETE_RUN, tiny
from tests.faults.torture import HOOK
from tests.sweeps.processes import PATIENCE, environment

ARGUMENTS = [
    *("--budget", "paper"),  # the settings that are not named below
    *("--task", "reverse_string", "--encoding", "randomized-sincos", "--batch", "8"),
    *("--learning-rate", "0.01", "--test-length", "6", "--positions.maximum", "32"),
    *("--model.layers", "1", "--model.heads", "2", "--model.dim", "8", "--model.hidden", "8"),
    *("--lengths.name", "fixed", "--lengths.maximum", "4", "--no-evaluate", "--save-every", "0"),
]


ENDLESS = 10**7
"""Steps of a run that does not end by itself, however late the test stops it."""


def experiment(steps: int):
    return tiny(steps=steps, lengths=Schedule("fixed", 4))


class Command:
    """The same command line, in one store and with one cache of compiled programs."""

    def __init__(self, store: Path, cache: Path, steps: int, *more: str) -> None:
        self.folder = Store(store).run(experiment(steps))
        flags = [*ARGUMENTS, "--steps", str(steps), "--store", str(store), *more]
        self.line = [sys.executable, "-m", "randpos.cli.main", "train", *flags]
        self.environment = environment(cache)

    def start(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.line, env=self.environment, stdout=pipe, stderr=pipe, text=True
        )

    def finish(self) -> str:
        """Runs it to the end, and returns what it said."""
        process = self.start()
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said
        return said

    def progress(self) -> int:
        """How many lines of metrics there are."""
        path = self.folder.path / "metrics.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def wait_for(self, process: subprocess.Popen[str], lines: int) -> None:
        """Waits until the run has written a number of lines, or has ended."""
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and self.progress() < lines:
            assert time.monotonic() < deadline, f"{self.folder.path} has no {lines} lines"
            time.sleep(0.002)

    def outcome(self) -> tuple[bytes, bytes]:
        metrics = self.folder.path / "metrics.jsonl"
        return self.folder.parameters.read_bytes(), metrics.read_bytes()


def test_killed_between_any_two_writes_a_run_ends_the_same(tmp_path, cache):
    quiet = Command(tmp_path / "quiet", cache, 1000)
    train(experiment(1000), store=tmp_path / "quiet", progress=False)
    command = Command(tmp_path / "killed", cache, 1000)
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command.environment |= {"PYTHONPATH": path, "TORTURE_TOKEN": str(tmp_path / "token")}
    for write in (2, 31):  # while it starts, then in the middle of a chunk and its checkpoint
        (tmp_path / "token").touch()
        command.environment["TORTURE_AT"] = str(write)
        process = command.start()
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL, said
    command.environment["TORTURE_AT"] = "0"
    assert command.folder.result() is None
    assert command.progress() > 0
    said = command.finish()
    assert command.outcome() == quiet.outcome()
    assert "Traceback" not in said
    assert sorted(path.name for path in command.folder.path.iterdir()) == COMPLETE_RUN


def test_stopped_by_the_keyboard_it_says_so_and_continues(tmp_path, cache):
    command = Command(tmp_path, cache, ENDLESS, "--save-every", "3600")
    process = command.start()
    command.wait_for(process, 2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "randpos: stopped; run the same command again to continue."
    assert "Traceback" not in said
    (saved,) = command.folder.checkpoints.glob("*.json")
    # The last line may have been written just before, and is then written again.
    at = int(saved.stem.removeprefix("step-")) // 100
    assert command.progress() - at in (0, 1)


@pytest.mark.slow  # tests/store/test_lock.py has two processes, and the command line its sentence
def test_a_second_process_is_refused_until_the_first_is_dead(tmp_path, cache):
    command = Command(tmp_path, cache, ENDLESS)
    first = command.start()
    command.wait_for(first, 1)
    first.send_signal(signal.SIGSTOP)  # it holds the run, and takes its time
    second = command.start()
    _, said = second.communicate(timeout=PATIENCE)
    first.kill()
    first.communicate()
    assert second.returncode == 2
    assert said.count("\n") == 1
    assert f"is being trained by another process ({first.pid})" in said
    command.folder.lock().release()

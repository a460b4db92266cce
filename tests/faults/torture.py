"""A real sweep, killed again and again at random moments, ends like one that nothing disturbed.

    python -m tests.faults.torture --seed 1 --count 100

Each sitting starts the same command and kills something of it with SIGKILL: the driver, a worker,
both, or whoever is between two phases of a write (before or after a file is synced, renamed or
removed). Some sittings live with a clock that was set back. When all runs are done, the store must
equal that of an undisturbed sweep bit for bit, with nothing missing and nothing left over; then a
new store is begun, until there have been enough kills.
"""

import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.sweeps.processes import Command, is_alive, leftovers, outcome, wait, workers_of

SEEDS = 3
STEPS = 2000
HOOK = '''
"""Loaded by every Python process: kills it at a chosen call, once; and sets back its clock."""
import os, signal, threading, time

def guard(name):
    real = getattr(os, name)
    def guarded(*arguments, **more):
        reach(name, "before")
        try:
            return real(*arguments, **more)
        finally:
            reach(name, "after")
    setattr(os, name, guarded)

count, lock = 0, threading.Lock()
def reach(name, phase):
    global count
    with lock:
        count += 1
        if count != at:
            return
    try:
        os.rename(token, token + ".used")  # only one process, once
    except FileNotFoundError:
        return
    with open(token + ".used", "w") as file:
        file.write(phase + " " + name)
    os.kill(os.getpid(), signal.SIGKILL)

if at := int(os.environ.get("TORTURE_AT", "0")):
    token = os.environ["TORTURE_TOKEN"]
    for name in ("fsync", "replace", "unlink", "rmdir", "ftruncate", "pwrite"):
        guard(name)
if back := float(os.environ.get("TORTURE_CLOCK", "0")):
    now, now_ns = time.time, time.time_ns
    time.time = lambda: now() - back
    time.time_ns = lambda: now_ns() - int(back * 1e9)
'''


@dataclass
class Torture:
    """A folder with a store in it that is tortured.

    Args:
        folder: Where everything is.
        seed: Decides when to kill what; the machine decides the rest.
        count: How often to kill.
    """

    folder: Path
    seed: int
    count: int
    kills: collections.Counter[str] = field(default_factory=collections.Counter)
    rounds: int = 0
    sittings: int = 0

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        hook = self.folder / "hook"
        hook.mkdir()
        (hook / "sitecustomize.py").write_text(HOOK)
        self.cache = self.folder / "cache"
        self.quiet = self.command("quiet")
        self.quiet.finish()
        self.wanted = outcome(self.quiet.store)
        assert leftovers(self.quiet.store) == []

    def command(self, name: str) -> Command:
        flags = ("--workers", str(self.draw.choice((1, 2))))
        more = {"PYTHONPATH": str(self.folder / "hook")}
        return Command(self.folder / name, self.cache, *flags, seeds=SEEDS, steps=STEPS, more=more)

    def run(self) -> None:
        """Kills until it was often enough, then lets the last store be finished."""
        while self.kills.total() < self.count:
            self.rounds += 1
            command = self.command("tortured")
            while self.kills.total() < self.count and not self.sit(command):
                pass
            command.finish()
            assert outcome(command.store) == self.wanted
            assert leftovers(command.store) == []
            shutil.rmtree(command.store)

    def sit(self, command: Command) -> bool:
        """Starts the sweep and kills of it what chance says; tells whether it came to its end."""
        self.sittings += 1
        token, used = self.folder / "token", self.folder / "token.used"
        at = self.draw.choice((0, self.draw.randint(1, 40), self.draw.randint(1, 400)))
        token.touch()
        command.environment |= {
            "TORTURE_TOKEN": str(token),
            "TORTURE_AT": str(at),
            "TORTURE_CLOCK": str(self.draw.choice((0, 0, 3600, 1e8))),
        }
        with (self.folder / "said").open("w+") as said:
            # Checkpoints at every chance, now and then, or never but when asked to stop.
            often = self.draw.choice(("0", "0.3", "3600"))
            process = subprocess.Popen(
                [*command.line, "--save-every", often],
                env=command.environment,
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=said,
                text=True,
            )
            if at:
                wait(lambda: process.poll() is not None or used.exists())
            known: set[int] = set()
            # A job may lose two workers; the third time its runs would rightly count as failed.
            for last in (*(() if at else (False,)), self.draw.random() < 0.5, True):
                self.pause(command, process)
                known.update(workers_of(process))
                if process.poll() is None:
                    self.kill(process, last)
                if last:
                    break
            process.wait()
            if self.draw.random() < 0.7:  # else the next sitting meets the last worker of this
                wait(lambda: not any(is_alive(pid) for pid in known))
            said.seek(0)
            text = said.read()
        if used.exists():
            self.kills[used.read_text() or "write"] += 1
            used.unlink()
        token.unlink(missing_ok=True)
        command.environment["TORTURE_AT"] = "0"
        # Two workers that are killed at about the same time stop the sweep; no run has failed.
        stopped = process.returncode == 2 and "killed at the same time" in text
        assert stopped or process.returncode in (0, -signal.SIGKILL), text
        assert "Traceback" not in text, text
        assert not list(command.store.rglob("failure.json")), text
        return process.returncode == 0

    def pause(self, command: Command, process: subprocess.Popen[str]) -> None:
        """Lets the sweep start up, get some way, and then to anywhere in the middle."""
        if self.draw.random() < 0.9:  # else while it starts
            command.wait_for(process, command.progress() + self.draw.randint(0, 6))
        time.sleep(self.draw.choice((0.0, self.draw.uniform(0, 0.05), self.draw.uniform(0, 1.0))))

    def kill(self, process: subprocess.Popen[str], last: bool) -> None:
        """Kills a worker, or as the last deed of a sitting the driver, or both at once."""
        workers = workers_of(process)
        if not last:
            if workers and kill(self.draw.choice(workers)):
                self.kills["worker"] += 1
            return
        both = self.draw.random() < 0.3
        process.kill()
        self.kills["driver and workers" if both else "driver"] += 1
        for pid in workers if both else ():
            kill(pid)


def kill(pid: int) -> bool:
    """Kills a process; returns whether it was still running."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def torture(seed: int, count: int) -> Torture:
    """Tortures in a temporary folder, and returns the counts."""
    with tempfile.TemporaryDirectory(prefix="randpos-torture-") as name:
        ended = Torture(Path(name), seed, count)
        ended.run()
        return ended


def main() -> None:
    """Reads seed and count from the command line, and prints what was killed."""
    parser = argparse.ArgumentParser(description="Kills a sweep again and again.")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    print(f"torture with seed {options.seed}, at least {options.count} kills", flush=True)
    began = time.monotonic()
    ended = torture(options.seed, options.count)
    for name, number in ended.kills.most_common():
        print(f"{number:6} {name}")
    print(f"{ended.kills.total():6} kills in {ended.sittings} sittings of {ended.rounds} sweeps")
    print(f"{ended.rounds * SEEDS} runs equal an undisturbed sweep; nothing missing, nothing left")
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()

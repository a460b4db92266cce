"""The live view of a sweep: the phase of each run, the speed, and the time that is left."""

import collections
import itertools
import time

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table

from randpos.experiment import Experiment
from randpos.progress import WIDE
from randpos.sweeps.plan import Plan
from randpos.sweeps.work import Event, describe_run

WINDOW = 60.0
"""Seconds over which speed is averaged."""
SHOWN = 8
"""Runs and failures that fit on a screen."""
PHASES = ("compiling", "training", "testing")


class SweepView:
    """Shows a sweep: a live display on a terminal, else a line every `every` seconds."""

    def __init__(self, plan: Plan, console: Console, every: float = 30.0) -> None:
        self.console, self.every = console, every
        missing = plan.missing
        self.experiments: dict[str, Experiment] = {run.digest: run for run in missing}
        self.running: dict[str, Event] = {}
        self.done = len(plan.done)
        self.failed = len(plan.failed)
        self.total = self.done + self.failed + len(missing)
        self.begun = False
        self.reasons: list[str] = []
        self.steps_left = {run.digest: run.steps for run in missing}
        self.reported: dict[str, float] = {}
        """Time of the last report of steps, by run."""
        self.recent: collections.deque[tuple[float, float, int]] = collections.deque()
        """Reports: the time, the time of the report before, and the steps between them."""
        self.shown = time.monotonic()
        self.live = Live(console=console, auto_refresh=False, transient=False)

    def __enter__(self) -> "SweepView":
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self.live.stop()
        else:
            self.console.print(self.summary(), highlight=False, soft_wrap=True)

    def __call__(self, event: Event) -> None:
        """Records an event."""
        self.begun = True
        if event.state == "training" and event.step:
            before = self.running.get(event.run)
            # The steps before the first report after a resume were taken earlier.
            if before is not None and before.step:
                since, gained = self.reported[event.run], event.step - before.step
                self.recent.append((time.monotonic(), since, gained))
            self.reported[event.run] = time.monotonic()
            self.steps_left[event.run] = self.experiments[event.run].steps - event.step
        if event.state in ("testing", "done", "failed"):
            self.steps_left[event.run] = 0
        if event.state in PHASES:
            self.running[event.run] = event
            return
        self.running.pop(event.run, None)
        if event.state == "done":
            self.done += 1
        elif event.state == "failed":
            self.failed += 1
            self.reasons.append(f"{describe_run(self.experiments[event.run])}: {event.reason}")
            if not self.console.is_terminal:
                self.console.print(f"failed: {escape(self.reasons[-1])}", soft_wrap=True)

    def tick(self) -> None:
        """Refreshes the display, or prints a line if it is time."""
        now = time.monotonic()
        if self.console.is_terminal:
            if now - self.shown > 0.25:
                self.shown = now
                self.live.update(self.display(), refresh=True)
        elif now - self.shown > self.every:
            self.shown = now
            self.console.print(self.summary(), highlight=False, soft_wrap=True)

    @property
    def speed(self) -> float:
        """Steps per second of all workers together."""
        now = time.monotonic()
        while self.recent and now - self.recent[0][0] > WINDOW:
            self.recent.popleft()
        if not self.recent:
            return 0.0
        began = min(since for _, since, _ in self.recent)
        return sum(steps for *_, steps in self.recent) / max(1.0, now - began)

    def summary(self) -> str:
        """Returns one line: counts by phase, speed, and the time that is left."""
        phases = collections.Counter(event.state for event in self.running.values())
        queued = self.total - self.done - self.failed - len(self.running)
        counts = [f"{self.done}/{self.total} done"]
        counts += [f"{phases[phase]} {phase}" for phase in PHASES if phases[phase]]
        counts += [f"{self.failed} failed", f"{queued} queued"]
        line, steps, speed = ", ".join(counts), sum(self.steps_left.values()), self.speed
        if queued and not self.begun:
            line += "; starting the workers"
        if speed:
            line += f"  {speed:.1f} steps/s"
        if steps and speed:
            line += f"  {duration(steps / speed)} of training left"
        return line

    def display(self) -> Group:
        """Returns everything that the terminal shows."""
        wide = self.console.width >= WIDE
        table = Table(box=None, show_header=False, padding=(0, 1))
        table.add_column(no_wrap=True, overflow="ellipsis")
        for _ in range(3):
            table.add_column(no_wrap=True)
        for run, event in list(self.running.items())[:SHOWN]:
            experiment = self.experiments[run]
            table.add_row(
                escape(describe_run(experiment)),
                ProgressBar(total=experiment.steps, completed=event.step, width=20 if wide else 4),
                *describe_phase(event, experiment),
            )
        line = Table.grid()  # a bar alone does not end its line
        line.add_row(ProgressBar(total=self.total, completed=self.done + self.failed, width=60))
        failures = [f"[red]failed[/red] {escape(reason)}" for reason in self.reasons[-SHOWN:]]
        return Group(self.summary(), line, table, *failures)


def describe_phase(event: Event, experiment: Experiment) -> tuple[str, str]:
    """Returns a run's phase and, once there are any, its numbers."""
    if event.state == "training" and event.step:
        steps = f"{event.step:,}/{experiment.steps:,}"
        return f"training {steps}", f"loss {event.loss:.4f}  {100 * event.accuracy:.1f} %"
    if event.state == "testing" and event.length:
        return "testing", f"length {event.length}/{experiment.test_length}"
    return event.state, ""


def duration(seconds: float) -> str:
    """Writes a time in its two largest units; months and more in days or years.

    >>> duration(59.4), duration(3700), duration(200_000), duration(4e6), duration(2e9)
    ('59 s', '1 h 1 min', '2 d 7 h', '46 days', '63 years')
    """
    whole = round(seconds)
    if whole >= 730 * 86_400:
        return f"{round(whole / (365.25 * 86_400)):,} years"
    if whole >= 30 * 86_400:
        return f"{round(whole / 86_400)} days"
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    for (name, size), (smaller, part) in itertools.pairwise(units):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {name}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"

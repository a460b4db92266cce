"""The live view of a sweep: what runs, what is done, how fast, and how long it will take."""

import collections
import itertools
import time
from collections.abc import Iterable

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table

from randpos.experiment import Experiment
from randpos.sweeps.plan import Plan
from randpos.sweeps.work import Event

WINDOW = 60.0
"""Seconds over which speed is averaged."""
SHOWN = 8
"""Runs and failures that fit on a screen."""


class SweepView:
    """Shows a sweep: a live picture on a terminal, a line now and then elsewhere."""

    def __init__(self, plan: Plan, console: Console, every: float = 30.0) -> None:
        self.console, self.every = console, every
        missing = plan.missing
        self.experiments: dict[str, Experiment] = {one.digest: one for one in missing}
        self.running: dict[str, Event] = {}
        self.done = len(plan.done)
        self.failed = len(plan.failed)
        self.total = self.done + self.failed + len(missing)
        self.reasons: list[str] = []
        self.steps_left = {one.digest: one.steps for one in missing}
        self.told: dict[str, float] = {}
        """When each running run last reported steps."""
        self.recent: collections.deque[tuple[float, float, int]] = collections.deque()
        """Reports: when, when the one before was, and the steps between them."""
        self.last = time.monotonic()
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
        """Takes note of what happened to a run."""
        left = self.experiments[event.run].steps - event.step
        if event.state == "training" and event.step:
            before = self.running.get(event.run)
            if before is not None and before.step:  # the first report after a resume is no speed
                since, gained = self.told[event.run], event.step - before.step
                self.recent.append((time.monotonic(), since, gained))
            self.told[event.run] = time.monotonic()
            self.steps_left[event.run] = left
        if event.state == "testing":  # also of a run that was trained in an earlier sitting
            self.steps_left[event.run] = 0
        if event.state in ("training", "testing"):
            self.running[event.run] = event
            return
        self.running.pop(event.run, None)
        if event.state == "done":
            self.done += 1
            self.steps_left[event.run] = 0
        elif event.state == "failed":
            self.failed += 1
            self.steps_left[event.run] = 0
            self.reasons.append(f"{self.name(event.run)}: {event.reason}")
            if not self.console.is_terminal:
                self.console.print(f"failed: {escape(self.reasons[-1])}", soft_wrap=True)

    def tick(self) -> None:
        """Refreshes the picture."""
        now = time.monotonic()
        if self.console.is_terminal:
            if now - self.last > 0.25:
                self.last = now
                self.live.update(self.picture(), refresh=True)
        elif now - self.last > self.every:
            self.last = now
            self.console.print(self.summary(), highlight=False, soft_wrap=True)

    def name(self, run: str) -> str:
        """What a run is called in the view."""
        one = self.experiments[run]
        return f"{one.task} {one.encoding} seed {one.seed} rate {one.learning_rate:g}"

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
        """One line on all of it."""
        queued = self.total - self.done - self.failed - len(self.running)
        left = sum(self.steps_left.values())
        speed = self.speed
        rest = f"{duration(left / speed)} left" if speed else "time left unknown"
        return (
            f"{self.done}/{self.total} done, {len(self.running)} running, {self.failed} failed, "
            f"{queued} queued  {speed:.1f} steps/s  {rest}"
        )

    def picture(self) -> Group:
        """Everything that the terminal shows."""
        table = Table(box=None, show_header=False, padding=(0, 1))
        for run, event in list(self.running.items())[:SHOWN]:
            steps = self.experiments[run].steps
            table.add_row(
                escape(self.name(run)),
                ProgressBar(total=steps, completed=event.step, width=20),
                f"{event.step:,}/{steps:,}",
                event.state if event.state == "testing" else f"loss {event.loss:.4f}",
                "" if event.state == "testing" else f"{100 * event.accuracy:.1f} %",
            )
        line = Table.grid()  # a bar alone does not end its line
        line.add_row(ProgressBar(total=self.total, completed=self.done + self.failed, width=60))
        return Group(self.summary(), line, table, *_failures(self.reasons))


def _failures(reasons: list[str]) -> Iterable[str]:
    for reason in reasons[-SHOWN:]:
        yield f"[red]failed[/red] {escape(reason)}"


def duration(seconds: float) -> str:
    """Writes a span of time in the two units that matter.

    >>> duration(59.4), duration(3700), duration(200_000)
    ('59 s', '1 h 1 min', '2 d 7 h')
    """
    whole = round(seconds)
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    for (name, size), (smaller, part) in itertools.pairwise(units):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {name}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"

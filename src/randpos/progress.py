"""Progress of training and testing: bars on a terminal or in a notebook, lines elsewhere."""

import contextlib
import math
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Task as Row
from rich.text import Text

from randpos.experiment import Experiment
from randpos.store.result import Accuracy, percent
from randpos.training.loop import Progress as Report

WIDE = 110
"""Columns from which on a row has a bar and all numbers; on 80 the time left must be seen."""


def member_name(experiment: Experiment) -> str:
    """Returns what tells the members of an ensemble apart."""
    return f"seed {experiment.seed}, rate {experiment.learning_rate:g}"


class _Clock(TimeRemainingColumn):
    """The time that is left, or the seconds so far of work whose end is not known."""

    def render(self, task: Row) -> Text:
        if task.total is None:
            return Text(f"{task.elapsed or 0.0:.0f} s", style="progress.elapsed")
        return super().render(task)


class View:
    """Shows the progress of all members.

    Args:
        console: Where to show it; None shows nothing.
        lines: Print a line now and then where no bar can be drawn, such as into a file.
        every: Seconds between two such lines of a member.
        note: A line that is printed once, when work begins.
    """

    def __init__(
        self, console: Console | None, lines: bool = True, every: float = 10.0, note: str = ""
    ) -> None:
        live = console is not None and (console.is_terminal or console.is_jupyter)
        self.console = console or Console(quiet=True)
        self.live, self.lines, self.every = live, bool(console) and lines and not live, every
        self.note = note
        self.wide = self.console.width >= WIDE
        self.last: dict[str, float] = {}
        self.rows: dict[str, TaskID] = {}
        self.progress = Progress(
            SpinnerColumn(finished_text=" "),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24 if self.wide else 1),
            TextColumn("{task.fields[status]}"),
            _Clock(),
            console=self.console,
            speed_estimate_period=300.0,  # a chunk may take more than the usual 30 s
        )

    def __enter__(self) -> "View":
        if self.live:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            for row in self.progress.tasks:
                self.progress.update(row.id, visible=row.total is not None)
            self.progress.stop()

    def __call__(self, report: Report) -> None:
        """Shows a member's training."""
        self.begin()
        steps, name = report.experiment.steps, member_name(report.experiment)
        speed = report.step / report.seconds if report.seconds else 0.0
        status = f"{speed:.1f} steps/s  loss {report.loss:.4f}  accuracy {percent(report.accuracy)}"
        if self.live and not self.wide:
            loss = "" if report.score is not None else f"  loss {report.loss:.3f}"
            status = f"{speed:.1f}/s{loss}  accuracy {percent(report.accuracy)}"
        if report.score is not None:
            status += f"  score {percent(report.score)}"
        if self.live:
            if name not in self.rows:
                self.rows[name] = self.progress.add_task(name, total=steps, status="")
            place = f"{report.step:,}/{steps:,}  {status}"
            self.progress.update(self.rows[name], completed=report.step, status=place)
        elif report.step == steps or self.due(name):
            left = (steps - report.step) / speed if speed else 0.0
            self.say(f"{name}: step {report.step:,}/{steps:,}  {status}  {left:.0f} s left")

    def tested(self, experiment: Experiment, accuracy: Accuracy) -> None:
        """Shows that a member has been tested at a length."""
        name = f"testing {member_name(experiment)}"
        status = f"length {accuracy.length}: {percent(accuracy.accuracy)}"
        if self.live:
            if name not in self.rows:
                self.rows[name] = self.progress.add_task(name, total=None, status="")
            self.progress.update(self.rows[name], status=status)
        elif self.due(name):
            self.say(f"{name}: {status}")

    @contextlib.contextmanager
    def compiling(self, what: str) -> Iterator[None]:
        """Shows that a program is being compiled, and for how long."""
        self.begin()
        start = time.monotonic()
        text = f"compiling {what}"
        if self.live:
            row = self.progress.add_task(text, total=None, status="")
            try:
                yield
            finally:
                self.progress.remove_task(row)
        else:
            if self.due("compiling"):
                self.say(f"{text} …")
            yield
        if (seconds := time.monotonic() - start) >= 1:
            self.say(f"{text}: {seconds:.0f} s")

    def begin(self) -> None:
        """Prints the note, once."""
        note, self.note = self.note, ""
        if note:
            self.say(note)

    def due(self, name: str) -> bool:
        """Returns whether it is time for another line; the first one is due at once."""
        now = time.monotonic()
        if now - self.last.get(name, -math.inf) <= self.every:
            return False
        self.last[name] = now
        return True

    def say(self, text: str) -> None:
        """Prints a line above the bars."""
        if self.live or self.lines:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)


def open_view(progress: bool | View) -> View:
    """Returns `progress` if it is a view, else a view on standard error or a silent one."""
    if isinstance(progress, View):
        return progress
    return View(Console(stderr=True) if progress else None, lines=False)

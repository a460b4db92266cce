"""What the view of a sweep says."""

import io
import re

import pytest
from rich.console import Console

from randpos.sweeps import view as module
from randpos.sweeps.plan import Plan
from randpos.sweeps.view import SweepView, duration
from randpos.sweeps.work import Event
from tests.experiments import tiny

RUNS = [tiny(seed=seed, steps=1000) for seed in range(5)]


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def view(terminal: bool = False) -> SweepView:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    return SweepView(Plan([tiny(seed=9)], [(tiny(seed=8), "why")], RUNS), console)


def said(display: SweepView) -> str:
    assert isinstance(display.console.file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", display.console.file.getvalue())


def test_the_summary_counts_every_run_once(clock):
    display = view()
    assert display.summary().startswith("1/7 done, 1 failed, 5 queued")
    display(Event(RUNS[0].digest, "training", 100))
    display(Event(RUNS[1].digest, "training", 100))
    display(Event(RUNS[2].digest, "elsewhere"))
    display(Event(RUNS[3].digest, "compiling"))
    assert display.summary().startswith("1/7 done, 1 compiling, 2 training, 1 failed, 2 queued")
    display(Event(RUNS[3].digest, "queued"))
    display(Event(RUNS[0].digest, "testing", 1000))
    assert display.summary().startswith("1/7 done, 1 training, 1 testing, 1 failed, 3 queued")
    display(Event(RUNS[0].digest, "done", 1000))
    display(Event(RUNS[1].digest, "failed", reason="no luck"))
    assert display.summary().startswith("2/7 done, 2 failed, 3 queued")


def test_a_run_whose_worker_died_is_queued_again(clock):
    display = view()
    display(Event(RUNS[0].digest, "training", 100))
    display(Event(RUNS[0].digest, "queued"))
    assert display.summary().startswith("1/7 done, 1 failed, 5 queued")


def test_speed_is_steps_over_time_and_tells_the_time_left(clock):
    display = view()
    for i in range(11):
        clock.now = float(i)
        display(Event(RUNS[0].digest, "training", 20 * i))
        display(Event(RUNS[1].digest, "training", 40 * i))
    # The first reports are no speed; from the second on they add up to 60 steps a second.
    assert display.speed == pytest.approx(60 * 9 / 9)
    left = 5 * 1000 - 200 - 400
    assert display.summary().endswith(f"60.0 steps/s  {duration(left / 60)} of training left")


def test_steps_of_an_earlier_sitting_are_no_speed(clock):
    display = view()
    display(Event(RUNS[0].digest, "training"))  # it begins, and resumes at step 900
    for i, step in enumerate((920, 940, 960), start=1):
        clock.now = float(i)
        display(Event(RUNS[0].digest, "training", step))
    assert display.speed == pytest.approx(20.0)


def test_a_run_that_is_only_tested_has_no_steps_left(clock):
    display = view()
    for digest in (run.digest for run in RUNS[1:]):  # trained in an earlier sitting
        display(Event(digest, "testing", 1000))
    for i in range(3):
        clock.now = float(i)
        display(Event(RUNS[0].digest, "training", 100 * (i + 1)))
    assert display.summary().endswith(f"100.0 steps/s  {duration(700 / 100)} of training left")


def test_while_only_tests_are_left_no_time_is_shown(clock):
    display = view()
    for i in range(1, 4):
        clock.now = float(i)
        display(Event(RUNS[0].digest, "training", 100 * i))
    for run in RUNS:
        display(Event(run.digest, "testing", 1000))
    assert "5 testing" in display.summary()
    assert "left" not in display.summary()


def test_a_failure_shows_its_reason_as_it_is(clock):
    display = view()
    display(Event(RUNS[0].digest, "failed", reason="[Errno 28] no [bold]space[/x]"))
    assert "seed 0 rate 0.01: [Errno 28] no [bold]space[/x]" in said(display)


def test_a_terminal_shows_runs_bars_and_failures(clock):
    display = view(terminal=True)
    with display:
        display(Event(RUNS[0].digest, "training", 500, 0.25, 0.75))
        display(Event(RUNS[1].digest, "testing", 1000, length=5))
        display(Event(RUNS[3].digest, "compiling"))
        display(Event(RUNS[2].digest, "failed", reason="no [bold]luck[/x]"))
        clock.now = 1.0
        display.tick()
    text = said(display)
    assert "no [bold]luck[/x]" in text
    for part in ("500/1,000", "loss 0.2500", "75.0 %", "length 5/6", "compiling", "1/7 done"):
        assert part in text


def test_elsewhere_a_line_now_and_then(clock):
    display = view()
    with display:
        for second in range(100):
            clock.now = float(second)
            display.tick()
    lines = said(display).splitlines()
    assert len(lines) == 100 // 31 + 1
    assert all("1/7 done" in line for line in lines)

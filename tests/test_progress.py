"""Progress: bars for people who watch, lines for files, nothing when it is turned off."""

import io

import pytest
from rich.console import Console

from randpos import Accuracy
from randpos.progress import View, open_view
from randpos.training.loop import Progress
from tests.experiments import tiny


def progress(member: int, step: int, score: float | None = None) -> Progress:
    return Progress(member, tiny(seed=member), step, 0.6931, 0.512, 2.0, score)


@pytest.mark.parametrize("boot", [0.0, 1e6])
def test_without_a_terminal_there_is_a_line_now_and_then(monkeypatch, boot):
    """A monotonic clock counts from boot, which may be a moment ago."""
    now = boot
    monkeypatch.setattr("time.monotonic", lambda: now)
    out = io.StringIO()
    with View(Console(file=out, width=80), every=10.0) as view:
        for step in (10, 20, 30, 40, 60):
            view(progress(0, step))
            now += 4.0
    first, second, last = out.getvalue().splitlines()
    assert "step 10/60" in first
    assert "step 40/60" in second
    assert "step 60/60" in last
    wanted = ("seed 0, rate 0.01", "30.0 steps/s", "loss 0.6931", "accuracy 51.2", "0 s left")
    assert all(text in last for text in wanted)


def test_on_a_terminal_every_member_has_a_bar_and_its_last_score():
    out = io.StringIO()
    with View(Console(file=out, width=160, force_terminal=True)) as view:
        view(progress(0, 40))
        view(progress(1, 40, score=0.321))
    text = out.getvalue()
    assert "seed 0" in text
    assert "seed 1" in text
    assert "40/60" in text
    assert "score 32.1" in text


@pytest.mark.parametrize("terminal", [True, False])
def test_compiling_is_shown_while_it_lasts_and_timed_in_the_end(monkeypatch, terminal):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    out = io.StringIO()
    with View(Console(file=out, width=80, force_terminal=terminal), note="A note.") as view:
        with view.compiling("a program"):
            if terminal:
                view.progress.refresh()
            assert "compiling a program" in out.getvalue()
            now += 42.0
        assert "compiling a program: 42 s" in out.getvalue()
    assert out.getvalue().count("A note.") == 1


def test_a_view_can_be_turned_off(capfd):
    with open_view(False) as view, view.compiling("a program"):
        view(progress(0, 60))
        view.tested(tiny(), Accuracy(1, 1.0, 1.0))
    assert capfd.readouterr() == ("", "")

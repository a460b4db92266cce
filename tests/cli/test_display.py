"""What is printed: tables, JSON, the plot and progress."""

import io
import itertools
import json

import pytest
from rich.console import Console

from randpos import Accuracy
from randpos.cli.display import TrainingView, plot, show
from randpos.training.loop import Progress
from tests.experiments import tiny

ROWS = [
    {"name": "a", "count": 1234567, "rate": 3e-4, "yes": True, "none": None},
    {"name": "é", "count": 2, "rate": 0.5, "yes": False, "none": "–"},
]


def test_json_is_what_was_given(capsys):
    show(ROWS, "json")
    assert json.loads(capsys.readouterr().out) == ROWS


def test_no_rows_are_an_empty_list(capsys):
    show([], "json")
    assert json.loads(capsys.readouterr().out) == []
    show([], "text")


def test_a_table_shows_every_cell(capsys):
    show(ROWS, "text", "Things")
    text = capsys.readouterr().out
    assert all(word in text for word in ("Things", "1,234,567", "0.0003", "yes", "é", "–"))


def points(*lengths: int, accuracy: float = 1.0) -> list[Accuracy]:
    return [Accuracy(length, accuracy, accuracy) for length in lengths]


def rows_of(text: str) -> list[str]:
    """The lines of the drawing itself, without labels."""
    return [line[7:] for line in text.splitlines()[:11]]


def test_the_plot_puts_accuracy_upwards_and_length_to_the_right():
    text = plot({"a": [*points(1), *points(100, accuracy=0.0)]}, 40, 0.5, width=64)
    drawn = rows_of(text)
    assert drawn[0][0] == "●"
    assert drawn[10][63] == "●"
    assert "●" not in "".join(drawn[1:10])


def test_the_plot_marks_the_training_length_and_chance():
    drawn = rows_of(plot({"a": points(1, 100)}, 40, 0.5, width=64))
    column = round(39 / 99 * 63)
    assert {row[column] for row in drawn} == {"│"}
    assert set(drawn[5]) == {"·", "│"}


def test_the_plot_names_every_curve():
    text = plot({f"member {i}": points(1) for i in range(10)}, 1, 0.5)
    assert all(f"member {i}" in text for i in range(10))


def test_the_plot_fits_whatever_was_tested():
    lengths = [(1,), (1, 20), (7,), (500,)]
    for tested, seen, chance in itertools.product(lengths, (1, 40, 500), (0.0, 0.2, 1.0)):
        drawn = rows_of(plot({"a": points(*tested)}, seen, chance))
        assert {len(row) for row in drawn} == {64}, (tested, seen, chance)


def test_no_curves_are_an_empty_plot():
    assert "chance" in plot({}, 40, 0.5)


def progress(member: int, step: int) -> Progress:
    return Progress(member, tiny(seed=member), step, 0.6931, 0.512, 2.0)


@pytest.mark.parametrize("boot", [0.0, 1e6])
def test_without_a_terminal_there_is_a_line_now_and_then(monkeypatch, boot):
    """A monotonic clock counts from boot, which may be a moment ago."""
    now = boot
    monkeypatch.setattr("time.monotonic", lambda: now)
    out = io.StringIO()
    with TrainingView(Console(file=out, width=80), every=10.0) as view:
        for step in (10, 20, 30, 40, 60):
            view(progress(0, step))
            now += 4.0
    first, second, last = out.getvalue().splitlines()
    assert "step 10/60" in first
    assert "step 40/60" in second
    assert "step 60/60" in last
    wanted = ("seed 0, rate 0.01", "30.0 steps/s", "loss 0.6931", "accuracy 51.2", "0 s left")
    assert all(text in last for text in wanted)


def test_on_a_terminal_every_member_has_a_bar():
    out = io.StringIO()
    with TrainingView(Console(file=out, width=160, force_terminal=True)) as view:
        for member in (0, 1):
            view(progress(member, 40))
    text = out.getvalue()
    assert "seed 0" in text
    assert "seed 1" in text
    assert "40/60" in text

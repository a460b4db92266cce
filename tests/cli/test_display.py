"""What is printed: tables, JSON and the plot."""

import itertools
import json

from randpos import Accuracy
from randpos.cli import display
from randpos.cli.display import _wrapped, plot, show, show_lengths

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


def test_a_table_that_fits_looks_as_one_that_rich_lays_out(capsys, monkeypatch):
    rows = [*ROWS, {"name": "長さ", "count": 30, "rate": 2.0, "yes": True, "none": "[bold]"}]
    show(rows, "text", "Things")
    quick = capsys.readouterr().out
    monkeypatch.setattr(
        display, "_print_lines", lambda c, columns, _: c.print(_wrapped(columns, 160))
    )
    show(rows, "text", "Things")
    laid_out = capsys.readouterr().out
    assert [x.rstrip(" ─") for x in quick.splitlines()] == [
        x.rstrip(" ─") for x in laid_out.splitlines()
    ]
    assert "[bold]" in quick


def test_lengths_show_teacher_forcing_only_of_decoders(capsys):
    generated = [Accuracy(1, 0.5, 0.25, forced=0.75), Accuracy(2, 0.4, 0.2)]  # a damaged store
    show_lengths(generated, "A decoder")
    heading, _, *rows = capsys.readouterr().out.splitlines()[1:]
    assert heading.split() == ["length", "accuracy", "%", "whole", "%", "teacher-forced", "%"]
    assert [row.split() for row in rows if row] == [
        ["1", "50.0", "25.0", "75.0"],
        ["2", "40.0", "20.0", "–"],
    ]
    show_lengths(points(*range(1, 101)), "An encoder")
    text = capsys.readouterr().out
    assert "teacher-forced" not in text
    assert 10 < len(text.splitlines()) < 20


def test_lengths_whose_answers_are_constant_are_marked(capsys):
    show_lengths([Accuracy(1, 0.5, 0.5, constant=True), Accuracy(2, 0.4, 0.2)], "Some")
    heading, _, *rows = capsys.readouterr().out.splitlines()[1:]
    assert heading.endswith("constant answer")
    assert [row.split() for row in rows] == [["1", "50.0", "50.0", "yes"], ["2", "40.0", "20.0"]]


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

"""Tables that compare settings of one encoding: L, readings and draws."""

from typing import Any

import pytest

from randpos.results import make_table
from tests.results.stores import run, scored


def test_the_sweep_over_L() -> None:  # noqa: N802
    name = "randomized-relative"
    sizes = {1024: 0.5, 2048: 0.6, 16384: 0.7}
    results = [(run("reverse_string", name, maximum=size), v) for size, v in sizes.items()]
    results.append((run("even_pairs", name), 0.9))  # one L only: no comparison
    made = make_table(scored(results), "max-position")
    assert [column.key for column in made.columns] == ["1024", "2048", "4096", "8192", "16384"]
    assert [row.label for row in made.rows] == [
        "Reverse String · Randomized Relative",
        "Missing Duplicate · Randomized Relative",
    ]
    shown = [made.text(made.rows[0], column, "ours") for column in made.columns]
    assert shown == ["50.0", "60.0", "–", "–", "70.0"]
    assert "L=1024, 2048, 16384" in made.notes[0]


def test_readings_and_draws_are_compared() -> None:
    name, kinds = "randomized-relative", {("positions", "per_batch"): 0.5}
    kinds |= {("released", "per_batch"): 0.6, ("positions", "per_layer"): 0.7}
    results = [
        (run("reverse_string", name, reading=reading, draw=draw), value)
        for (reading, draw), value in kinds.items()
    ]
    made = make_table(scored(results), "readings")
    (row,) = made.rows
    shown = {column.label: made.text(row, column, "ours") for column in made.columns}
    assert shown == {
        "positions, per batch": "50.0",
        "positions, per layer": "70.0",
        "released, per batch": "60.0",
    }


@pytest.mark.parametrize("name", ["max-position", "readings"])
def test_a_longer_run_at_one_setting_does_not_hide_a_comparison(name: str) -> None:
    other: dict[str, Any] = {"maximum": 1024} if name == "max-position" else {"draw": "per_layer"}
    kinds: list[tuple[dict[str, Any], float]] = [({}, 0.5), (other, 0.6), ({"steps": 9000}, 0.9)]
    relative = "randomized-relative"
    results = [(run("reverse_string", relative, **kind), score) for kind, score in kinds]
    made = make_table(scored(results), name)
    assert {cell.ours.value for cell in made.cells.values() if cell.ours} == {50.0, 60.0}


@pytest.mark.parametrize("name", ["max-position", "readings"])
def test_settings_are_compared_over_the_seeds_that_all_have(name: str) -> None:
    other: dict[str, Any] = {"maximum": 1024} if name == "max-position" else {"draw": "per_layer"}
    relative = "randomized-relative"
    results = [
        (run("reverse_string", relative), 0.5),
        (run("reverse_string", relative, **other), 0.6),
    ]
    lucky = (run("reverse_string", relative, 1), 0.9)
    made = make_table(scored([*results, lucky]), name)
    assert {cell.ours.value for cell in made.cells.values() if cell.ours} == {50.0, 60.0}
    made = make_table(scored([results[1], lucky]), name)  # no seed in common: all are shown
    assert {cell.ours.value for cell in made.cells.values() if cell.ours} == {90.0, 60.0}
    assert not any(made.is_best(row, c, "ours") for row in made.rows for c in made.columns)

"""`randpos runs list` and `show`: runs can be told apart, and nothing is said twice."""

import json

import pytest

from randpos import PositionOptions
from randpos.cli.main import main
from tests.experiments import tiny
from tests.sweeps.synthetic import write_run


@pytest.fixture
def store(tmp_path):
    """Two runs of one encoding that differ in L and reading, and one with ordinal positions."""
    for options in (PositionOptions(maximum=32), PositionOptions(maximum=64, reading="distances")):
        write_run(tmp_path, tiny(encoding="randomized-relative", positions=options))
    write_run(tmp_path, tiny(encoding="relative"))
    return tmp_path


def said(capsys, *arguments: str) -> list[list[str]]:
    """The cells of the tables that a command prints, row by row."""
    assert main(["runs", *arguments]) == 0
    lines = capsys.readouterr().out.replace("┃", "│").splitlines()
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if "│" in line]


def test_how_positions_were_drawn_is_listed_where_it_differs(capsys, store):
    names, *rows = said(capsys, "list", "--store", str(store))
    assert names[2:6] == ["encoding", "L", "reading", "seed"]  # all draws are per batch
    drawn = sorted(row[2:5] for row in rows)
    assert drawn == [
        ["randomized-relative", "32", "positions"],
        ["randomized-relative", "64", "distances"],
        ["relative", "", ""],
    ]


def test_runs_that_were_drawn_alike_have_a_short_list(capsys, tmp_path):
    for seed in (0, 1):
        write_run(tmp_path, tiny(seed=seed))
    write_run(tmp_path, tiny(encoding="relative"))
    names, *_ = said(capsys, "list", "--store", str(tmp_path))
    assert names[2:4] == ["encoding", "seed"]
    assert main(["runs", "--store", str(tmp_path), "--format", "json"]) == 0
    assert {"maximum", "reading", "draw"} < set(json.loads(capsys.readouterr().out)[0])


def test_an_empty_store_has_an_empty_list(capsys, tmp_path):
    assert said(capsys, "--store", str(tmp_path)) == []


def test_a_run_is_shown_with_each_setting_once(capsys, store):
    digest = tiny(encoding="relative").digest
    facts = [row for row in said(capsys, "show", digest, "--store", str(store)) if len(row) == 2]
    names = [name for name, _ in facts]
    assert len(set(names)) == len(names)
    assert {"positions.maximum", "positions.reading", "positions.draw"} < set(names)
    assert not {"maximum", "reading", "draw", "training_length"} & set(names)
    seconds = dict(facts)["seconds"]
    assert seconds == f"{float(seconds):.1f}"

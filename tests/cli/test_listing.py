"""Lists: runs can be told apart, nothing is said twice, and facts need no JAX."""

import json
import re
import subprocess
import sys

import pytest

from randpos import PositionOptions, catalog, facts
from randpos.cli import listing
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
    """The words of the lines that a command prints; cells are two spaces apart."""
    assert main(["runs", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines if line]


def test_how_positions_were_drawn_is_listed_where_it_differs(capsys, store):
    title, names, _, *rows = said(capsys, "list", "--store", str(store))
    assert names[1:3] == ["encoding", "positions"]  # all draws are per batch
    drawn = sorted(row[1:3] for row in rows)
    assert drawn[:2] == [
        ["randomized-relative", "L=32"],
        ["randomized-relative", "L=64, distances"],
    ]
    assert drawn[2][0] == "relative"
    assert f"task {tiny().task}" in title[0]  # what all runs share


def test_runs_that_were_drawn_alike_have_a_short_list(capsys, tmp_path):
    for seed in (0, 1):
        write_run(tmp_path, tiny(seed=seed))
    write_run(tmp_path, tiny(encoding="relative"))
    _, names, *_ = said(capsys, "list", "--store", str(tmp_path))
    assert names[1:3] == ["encoding", "seed"]
    assert main(["runs", "--store", str(tmp_path), "--format", "json"]) == 0
    assert {"maximum", "reading", "draw"} < set(json.loads(capsys.readouterr().out)[0])


def test_an_empty_store_has_an_empty_list(capsys, tmp_path):
    assert said(capsys, "--store", str(tmp_path)) == [["0 runs; score and in domain in %"]]


def test_a_run_is_shown_with_each_setting_once(capsys, store):
    digest = tiny(encoding="relative").digest
    shown = said(capsys, "show", digest, "--store", str(store))
    pairs = [row for row in shown if len(row) == 2 and re.fullmatch(r"[\w.]+", row[0])]
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names)
    assert {"positions.maximum", "positions.reading", "positions.draw"} < set(names)
    assert not {"maximum", "reading", "draw", "training_length"} & set(names)
    seconds = dict(pairs)["seconds"]
    assert seconds == f"{float(seconds):.1f}"


# Facts of tasks and encodings.

STORE = "STORE"
LOADED = """
import json, sys
from randpos.cli.main import main
for line in json.loads(sys.argv[1]):
    try:
        code = main(line)
    except SystemExit as end:  # help ends the process
        code = end.code
    assert not code, line
    assert not {"jax", "equinox"} & set(sys.modules), line
"""
LINES = [
    ["tasks"],
    ["encodings", "--format", "json"],
    ["runs", "list", "--store", STORE],
    ["runs", "list", "--encoding", "randomized-relative", "--store", STORE],
    ["runs", "show", tiny(encoding="relative").digest, "--store", STORE],
    ["table", "table1", "--store", STORE],
    ["table", "comparison", "--format", "latex", "--store", STORE],
    ["benchmark", "leaderboard", STORE],
    *([name, "--help"] for name in ("train", "evaluate", "sweep", "reproduce", "report", "figure")),
]


def test_listings_and_help_load_no_jax(store):
    lines = [[str(store) if word == STORE else word for word in line] for line in LINES]
    command = [sys.executable, "-c", LOADED, json.dumps(lines)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_facts_are_those_of_the_classes(monkeypatch):
    stored = facts.stored()
    assert stored == json.loads(json.dumps(listing.current_facts())), (
        "write the file anew: python -m randpos.cli.listing"
    )
    known = facts.tasks(), facts.encodings(), facts.combinations()
    assert list(known[2]) == list(catalog.combinations())
    for name, combination in catalog.combinations().items():
        assert facts.default_reading(name) == combination.default_reading
    # Registries that the file was not written from: the classes are read.
    monkeypatch.setattr(facts, "registries_digest", lambda: "other")
    for function in (facts.stored, facts.tasks, facts.encodings, facts.combinations):
        function.cache_clear()
    try:
        assert facts.stored() is None
        assert (facts.tasks(), facts.encodings(), facts.combinations()) == known
    finally:
        monkeypatch.undo()
        for function in (facts.stored, facts.tasks, facts.encodings, facts.combinations):
            function.cache_clear()

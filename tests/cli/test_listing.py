"""Lists: runs can be told apart, nothing is said twice, and facts need no JAX."""

import json
import re
import subprocess
import sys

import pytest

from randpos import PositionOptions
from randpos.cli import facts
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
    told = [row for row in shown if len(row) == 2 and re.fullmatch(r"[\w.]+", row[0])]
    names = [name for name, _ in told]
    assert len(set(names)) == len(names)
    assert {"positions.maximum", "positions.reading", "positions.draw"} < set(names)
    assert not {"maximum", "reading", "draw", "training_length"} & set(names)
    seconds = dict(told)["seconds"]
    assert seconds == f"{float(seconds):.1f}"


# Facts of tasks and encodings.

LOADED = """
import sys
from randpos.cli.main import main
assert main([sys.argv[1], "--format", "json"]) == 0
assert "jax" not in sys.modules
"""


@pytest.mark.parametrize("name", ["tasks", "encodings"])
def test_a_list_in_the_cache_is_the_same_and_loads_no_jax(name, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("RANDPOS_CACHE", str(tmp_path))
    assert main([name, "--format", "json"]) == 0
    computed = json.loads(capsys.readouterr().out)
    again = subprocess.run(
        [sys.executable, "-c", LOADED, name], capture_output=True, text=True, check=True
    )
    assert json.loads(again.stdout) == computed


def test_facts_of_other_code_or_in_a_damaged_file_are_computed_again(tmp_path, monkeypatch):
    monkeypatch.setenv("RANDPOS_CACHE", str(tmp_path))
    assert facts.cached_rows("x", lambda: [{"a": 1}]) == [{"a": 1}]
    assert facts.cached_rows("x", lambda: [{"a": 2}]) == [{"a": 1}]
    (file,) = (tmp_path / "listings").iterdir()
    file.write_text("[{")
    assert facts.cached_rows("x", lambda: [{"a": 3}]) == [{"a": 3}]
    monkeypatch.setattr(facts, "source_digest", lambda: "other")
    assert facts.cached_rows("x", lambda: [{"a": 4}]) == [{"a": 4}]

"""The notebooks run from top to bottom, with a model that trains in a moment."""

import json
from pathlib import Path

import matplotlib as mpl
import nbformat
import pytest

from randpos import experiment as config
from tests.experiments import tiny

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def run_cells(name: str) -> dict:
    """Runs the code cells of a notebook in order; returns its names."""
    notebook = nbformat.reads((NOTEBOOKS / name).read_text(), as_version=4)
    nbformat.validate(notebook)
    names: dict = {}
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            assert cell.outputs == [], "notebooks are stored without outputs"
            exec(compile(cell.source, f"{name}, cell {number}", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    mpl.use("agg")


def test_the_paper_in_twenty_minutes(monkeypatch, capsys):
    small = tiny(steps=4)
    fields = ("steps", "batch", "test_length", "positions", "model", "lengths", "evaluation")
    monkeypatch.setitem(config.PRESETS, "smoke", {name: getattr(small, name) for name in fields})
    monkeypatch.setenv("RANDPOS_BUDGET", "smoke")
    names = run_cells("the_paper_in_twenty_minutes.ipynb")
    assert set(names["runs"]) == {"sincos", "randomized-sincos"}
    assert [point.length for point in names["curve"]] == list(range(1, 10))
    assert "randomized" in capsys.readouterr().out


def test_positions_in_your_own_model(monkeypatch, capsys):
    monkeypatch.setenv("NOTEBOOK_STEPS", "2")
    names = run_cells("positions_in_your_own_model.ipynb")
    assert names["positions"].tolist() == sorted(set(names["positions"].tolist()))
    assert capsys.readouterr().out.count("randomized") == 3


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_stored_as_json_that_diffs_well(path):
    text = path.read_text()
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"

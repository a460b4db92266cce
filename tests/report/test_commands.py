"""`randpos reproduce`, `table` and `figure`: what is written, and what stops nothing else."""

import warnings

import pytest

from randpos.cli import main
from randpos.commands import reporting
from randpos.figures import FIGURES
from randpos.records import pack
from randpos.report import table_names
from tests.report.stores import run, scored


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store that lacks nothing: the sweep of `reproduce` has nothing to do."""
    monkeypatch.setattr(reporting.Sweep, "__call__", lambda self: None)
    monkeypatch.setattr("randpos.cli.enable_cache", lambda: None)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.chdir(tmp_path)
    pack(scored([(run("even_pairs", "rope"), 0.5)]), tmp_path / "runs")
    return tmp_path / "runs"


@pytest.mark.filterwarnings("default:no figure:UserWarning")
def test_a_figure_that_cannot_be_drawn_stops_neither_tables_nor_page(store, capsys):
    assert main(["reproduce", "max-position", "--budget", "smoke", "--out", "out"]) == 0
    written = {path.name for path in (store.parent / "out").iterdir()}
    assert written == {"max-position.md", "max-position.tex", "max-position.csv", "report.html"}
    said = capsys.readouterr()
    assert "The largest position L" in said.out
    assert "no figure max-position: No task has" in said.err


def test_a_grid_of_ones_own_is_refused_before_anything_is_run(store, capsys):
    (store.parent / "my.toml").write_text("")
    assert main(["reproduce", "my.toml"]) == 2
    assert "Unknown experiment 'my.toml'" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "names"), [("table", table_names()), ("figure", [*FIGURES])])
def test_the_help_lists_all_names(command, names, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert ", ".join(names) in said

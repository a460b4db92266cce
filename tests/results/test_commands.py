"""`randpos reproduce`, `table` and `figure`: what is written, and what stops nothing else."""

import warnings

import pytest
from matplotlib.figure import Figure

from randpos.cli import reporting
from randpos.cli.main import main
from randpos.paper.artifacts import experiments, figures, tables
from randpos.paper.base import Artifact
from randpos.store.tables import pack
from tests.results.stores import run, scored


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store that lacks nothing: the sweep of `reproduce` has nothing to do."""
    monkeypatch.setattr(reporting.Sweep, "__call__", lambda self: None)
    monkeypatch.setattr("randpos.cli.main.enable_cache", lambda: None)
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


def test_a_figure_of_some_tasks_has_only_these(tmp_path, monkeypatch, store, capsys):
    runs = [(run(task, "rope"), 0.5) for task in ("even_pairs", "bucket_sort")]
    pack(scored(runs), tmp_path / "two")
    seen = []
    monkeypatch.setattr(Artifact, "draw", lambda _, *source: seen.append(source[0]) or Figure())
    line = ["figure", "curves", "--store", "two", "--tasks", "bucket_sort", "--encodings", "rope"]
    assert main(line) == 0
    assert seen[0].runs["task"].to_list() == ["bucket_sort"]
    assert set(seen[0].accuracies["run"]) == set(seen[0].runs["run"])
    assert main([*line[:4], "--tasks", "parity_check"]) == 2
    assert "The store has no runs of the task parity_check." in capsys.readouterr().err


def test_a_figure_that_needs_no_runs_needs_no_store(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Artifact, "draw", lambda *_: Figure())
    assert main(["figure", "overview"]) == 0
    assert (tmp_path / "figures" / "overview.svg").is_file()


@pytest.mark.parametrize(
    ("command", "names"),
    [("table", [*tables()]), ("figure", [*figures()]), ("reproduce", [*experiments()])],
)
def test_the_help_lists_all_names(command, names, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert ", ".join(names) in said

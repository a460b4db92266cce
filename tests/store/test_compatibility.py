"""A store written by version 0.1 is read, shown, tested and resumed.

It holds a run of 100 steps that was tested up to length 4, and one of 200 steps that was stopped
after 100.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from randpos import Run, train
from randpos.cli.main import main
from randpos.results.scores import counted_accuracies, score_runs
from randpos.store.folder import Store
from randpos.store.tables import read_store

COMPLETE, STOPPED = "21b384d31f493669", "c71a356b68e0e49f"
CURVE = [[100, 0.5855050006508827, 0.679375]]


@pytest.fixture
def store(tmp_path) -> Path:
    """A copy of the store."""
    path = tmp_path / "runs"
    shutil.copytree(Path(__file__).parent / "data" / "written_by_0.1", path)
    return path


def test_its_tables_hold_what_was_written(store):
    tables = read_store(store)
    rows = {row["run"]: row for row in tables.runs.to_dicts()}
    assert {run: row["status"] for run, row in rows.items()} == {
        COMPLETE: "complete",
        STOPPED: "unfinished",
    }
    assert json.loads(rows[COMPLETE]["curve"]) == CURVE
    points = tables.accuracies.select("run", "length", "accuracy", "whole", "batch", "seed")
    assert points.rows() == [
        (COMPLETE, length, accuracy, whole, 16, 0)
        for length, accuracy, whole in [
            (1, 1.0, 1.0),
            (2, 0.375, 0.25),
            (3, 0.7708333134651184, 0.3125),
            (4, 43 / 64, 0.125),
        ]
    ]


@pytest.mark.parametrize("run", [COMPLETE, STOPPED])
def test_its_runs_keep_their_names_and_settings(store, run):
    stored = json.loads((store / run / "config.json").read_text())["experiment"]
    experiment = Store(store).find(run).experiment()
    assert experiment.digest == run
    settings = experiment.to_dict()
    for name, value in stored.items():
        table = value if isinstance(value, dict) else {name: value}
        current = settings[name] if isinstance(value, dict) else settings
        assert {key: current[key] for key in table} == table


def test_it_is_shown(store, capsys, monkeypatch):
    monkeypatch.setattr("randpos.cli.main.enable_cache", lambda: None)
    assert main(["runs", "show", COMPLETE, "--store", str(store), "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["curve"] == CURVE
    assert [point["length"] for point in row["accuracies"]] == [1, 2, 3, 4]


def test_its_model_is_tested_further(store):
    run = Run((Store(store).find(COMPLETE),))
    (curve,) = run.evaluate()
    assert [point.length for point in curve] == [1, 2, 3, 4, 5, 6]
    # Version 0.1 tested on other examples; its accuracies are kept apart from the new ones.
    tables = read_store(store)
    assert len(tables.accuracies) == 4 + 6
    tables = tables.only(run=[COMPLETE])
    points = counted_accuracies(tables, score_runs(tables))
    assert points["length"].to_list() == [1, 2, 3, 4, 5, 6]
    assert points["accuracy"].to_list() == [point.accuracy for point in curve]


def test_its_stopped_run_is_resumed(store):
    folder = Store(store).find(STOPPED)
    saved = (folder.checkpoints / "step-000000100.safetensors").read_bytes()
    before = safetensors.numpy.load(saved)
    steps = []
    with pytest.warns(UserWarning, match="version 1 of the numerics"):
        train(folder.experiment(), store=store, report=lambda at: steps.append(at.step))
    assert min(steps) > 100
    result = folder.result()
    assert result is not None
    assert (result.status, result.step) == ("complete", 200)
    assert [row["step"] for row in folder.lines("metrics.jsonl")] == [100, 200]
    after = safetensors.numpy.load(folder.parameters.read_bytes())
    for name, value in after.items():  # Trained from the checkpoint: changed, but not far.
        start = next(array for key, array in before.items() if key == f".parameters{name}")
        assert 0 < np.abs(value - start).max() < 100 * 1e-2

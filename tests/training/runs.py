"""Runs of a moment, whole or interrupted, and what must not depend on how they came about."""

from pathlib import Path

import pytest

from randpos import Experiment, Run
from randpos import run as runs
from randpos.store.folder import RunFolder
from randpos.training import loop as trainer
from tests.experiments import tiny

STEPS = 250
"""Two whole chunks and a half."""
RATES = [1e-2, 1e-3]


def train(store: Path, experiment: Experiment | None = None, **options) -> Run:
    """Trains the tiny experiment unless another one is given."""
    return runs.train(experiment or tiny(steps=STEPS), store=store, **options)


def content(folder: RunFolder) -> tuple[bytes, bytes]:
    """Returns the bytes of a run's parameters and metrics, whose steps are all timed once."""
    steps, timed = (
        [row["step"] for row in folder.lines(name)] for name in ("metrics.jsonl", "timing.jsonl")
    )
    assert steps == timed
    return folder.parameters.read_bytes(), (folder.path / "metrics.jsonl").read_bytes()


def members(run: Run) -> dict[tuple[int, float], tuple[bytes, bytes]]:
    """Returns the content of each member by seed and rate."""
    found = {}
    for number, folder in enumerate(run.folders):
        experiment = run.experiment(number)
        found[experiment.seed, experiment.learning_rate] = content(folder)
    return found


def stop_at(step: int, store: Path, **options) -> None:
    """Trains until Ctrl-C at a step."""

    def report(progress: trainer.Progress) -> None:
        if progress.step >= step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(store, report=report, **options)

"""A store with a run in each state."""

import dataclasses
from pathlib import Path

import pytest

from randpos import Evaluation
from randpos.store.accuracies import write_accuracies
from randpos.store.folder import Store
from tests.experiments import tiny
from tests.sweeps.synthetic import accuracies, write_run


@pytest.fixture
def store(tmp_path) -> Path:
    """Three complete runs, one tested in two ways, and one of each other state."""
    for seed in range(3):
        write_run(tmp_path, tiny(seed=seed))
    other = dataclasses.replace(tiny(seed=1), evaluation=Evaluation(batch=5, seed=9))
    write_accuracies(Store(tmp_path).run(other).path, other, accuracies(7, [2, 6]))
    write_run(tmp_path, tiny(seed=3), "diverged")
    write_run(tmp_path, tiny(seed=4), "failed", reason="no [bold]luck")
    write_run(tmp_path, tiny(seed=5), "unfinished")
    return tmp_path

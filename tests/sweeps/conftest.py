"""One undisturbed sweep, and one cache of compiled programs, for all tests of processes."""

import os
from pathlib import Path

import pytest

from randpos import train
from tests.sweeps.processes import Command, outcome


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled programs of this run of the suite: a process that is killed may spoil them."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # which all workers have in common
    return folder / "cache"


@pytest.fixture(scope="session")
def quiet(tmp_path_factory, cache):
    """What a sweep must come to: its runs, trained and tested in this process."""
    store = tmp_path_factory.mktemp("quiet") / "runs"
    for experiment in Command(store, cache).experiments():
        train(experiment, store=store, progress=False).evaluate(progress=False)
    return outcome(store)

"""One undisturbed sweep, and one cache of compiled programs, for all tests of processes."""

from pathlib import Path

import pytest

from tests.sweeps.processes import Command, outcome


@pytest.fixture(scope="session")
def cache(tmp_path_factory) -> Path:
    """Compiled programs, so that only the first process compiles."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def quiet(tmp_path_factory, cache):
    """What a sweep comes to that nothing disturbs."""
    store = tmp_path_factory.mktemp("quiet") / "runs"
    Command(store, cache, "--workers", "1").finish()
    return outcome(store)

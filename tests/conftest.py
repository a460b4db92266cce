"""Settings for all tests."""

import jax
import pytest
from hypothesis import settings

jax.config.update("jax_platforms", "cpu")
# Same examples every time: a test that fails on one machine fails on all.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")

LONGEST = [
    "tests/sweeps/test_processes.py",
    "tests/sweeps/test_cluster.py",
    "tests/test_training.py",
    "tests/tasks/test_determinism.py",
    "tests/faults/",
    "tests/test_trainer.py",
    "tests/test_examples.py",
    "tests/test_records.py",
    "tests/report/",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the files that take longest first, so that all processes end at about the same time."""

    def rank(item: pytest.Item) -> int:
        found = (i for i, name in enumerate(LONGEST) if item.nodeid.startswith(name))
        return next(found, len(LONGEST))

    items.sort(key=rank)

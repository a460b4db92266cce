"""Settings for all tests."""

import os
from pathlib import Path

# One cache of compiled programs for all workers and runs of the suite, also in subprocesses, for
# compiling is most of what tests do. Small programs too: there are thousands of them.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "randpos" / "tests"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

from jaxtyping import install_import_hook

# Shapes and types of arrays are checked at every call in the modules that compute with them. What
# only reads and writes tables is left to pyright: checked at every call, it takes twice as long.
CHECKED = [
    *("benchmark", "encodings", "export", "nn", "numerics", "numpy", "positions"),
    *("results.efficiency", "results.figures.attention", "results.inspect", "setup"),
    *("store.checkpoints", "tasks", "torch", "training"),
]
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
install_import_hook([f"randpos.{name}" for name in CHECKED], CHECKER)

import jax
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from tests.browser import MISSING

jax.config.update("jax_platforms", "cpu")
# Same examples every time: a test that fails on one machine fails on all.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")
# Hypothesis also draws constants that it reads in the source of all modules that are loaded: then
# examples depend on which other tests were collected, and every process parses all files.
if hasattr(providers, "_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants

LONGEST = [
    "tests/sweeps/test_processes.py",
    "tests/sweeps/test_ray.py",
    "tests/training/test_step.py",
    "tests/tasks/test_determinism.py",
    "tests/faults/",
    "tests/training/test_interruption.py",
    "tests/test_examples.py",
    "tests/store/test_tables.py",
    "tests/results/",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the files that take longest first, so that all processes end at about the same time."""

    def rank(item: pytest.Item) -> int:
        found = (i for i, name in enumerate(LONGEST) if item.nodeid.startswith(name))
        return next(found, len(LONGEST))

    items.sort(key=rank)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Ends with a loud line if no browser was found."""
    skipped = terminalreporter.stats.get("skipped", [])
    if count := sum(MISSING in str(report.longrepr) for report in skipped):
        terminalreporter.write_sep("!", red=True, bold=True)
        terminalreporter.write_line(f"{MISSING} {count} tests were left out.", red=True, bold=True)

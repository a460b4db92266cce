"""The short form of `make torture`: a sweep that is killed a few times."""

from pathlib import Path

from tests.faults.torture import HOOK, torture
from tests.sweeps.processes import Command, leftovers, outcome


def test_a_sweep_that_is_killed_again_and_again_ends_as_if_it_never_was():
    ended = torture(seed=1, count=5)
    assert ended.kills.total() >= 5
    assert ended.rounds >= 1


def test_a_clock_that_was_set_back_changes_nothing(tmp_path: Path, cache, quiet):
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    more = {"PYTHONPATH": str(tmp_path), "TORTURE_CLOCK": "1e8"}
    command = Command(tmp_path / "runs", cache, "--workers", "1", more=more)
    process = command.start()
    command.wait_for(process, 3)
    process.kill()
    process.communicate()
    command.environment["TORTURE_CLOCK"] = "2e8"  # three years earlier still
    command.finish()
    assert outcome(command.store) == quiet
    assert leftovers(command.store) == []

"""The short form of `make torture`: a sweep that is killed a few times."""

import pytest

from tests.faults.torture import torture


@pytest.mark.slow  # tests/sweeps/test_processes.py kills workers and drivers, once each
def test_a_sweep_that_is_killed_again_and_again_ends_as_if_it_never_was():
    ended = torture(seed=1, count=5)
    assert ended.kills.total() >= 5
    assert ended.rounds >= 1

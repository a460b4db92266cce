"""`make test-clock` runs tests with a monotonic clock that starts at 0; see tests/clock."""

import os
import subprocess
import sys
from pathlib import Path

CLOCK = Path(__file__).parent / "clock"


def test_every_process_of_make_test_clock_starts_its_clock_anew():
    more = {"PYTHONPATH": str(CLOCK), "RANDPOS_TEST_CLOCK": "1e8"}
    code = "import time; print(time.monotonic(), time.monotonic_ns())"
    shown = subprocess.check_output([sys.executable, "-c", code], env=os.environ | more, text=True)
    seconds, nanoseconds = map(float, shown.split())
    assert 1e8 <= seconds <= 1e-9 * nanoseconds < 1e8 + 900

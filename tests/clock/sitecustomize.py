"""Sets the monotonic clock back, as on a machine that was booted a moment ago.

Python imports this module when it starts if this folder is on PYTHONPATH, also in the processes
that tests start. In each, the clock then counts from the number in RANDPOS_TEST_CLOCK.
"""

import os
import time

if start := os.environ.get("RANDPOS_TEST_CLOCK"):
    real, shift = time.monotonic_ns, time.monotonic_ns() - round(1e9 * float(start))
    time.monotonic_ns = lambda: real() - shift
    time.monotonic = lambda: (real() - shift) / 1e9

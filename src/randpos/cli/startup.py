"""Prepares a process of the command line before the libraries are imported.

Importing the libraries takes seconds. An interrupt during that time would print a traceback.
"""

import os
import signal
import sys
from pathlib import Path


def _is_command() -> bool:
    """Returns whether this process is the command line: `randpos` or `python -m randpos`."""
    called = Path(*sys.argv[:1])
    if called.name == "-m":  # Python is still importing the package
        return sys.orig_argv[sys.orig_argv.index("-m") + 1 :][:1] == ["randpos.cli.main"]
    return called.name == "randpos" or called.parts[-2:] == ("randpos", "__main__.py")


if _is_command():
    # XLA prints five lines that ask for a bug report if compiling takes more than two minutes.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file that is opened would get the output of libraries
            os.open(os.devnull, os.O_RDWR)
    # Keep ignoring interrupts if the parent process does, as for a script's background job.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `randpos.cli.main.main` takes over

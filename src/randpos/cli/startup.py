"""Imported before everything else: makes a process of the command line ready for libraries.

Importing them takes seconds. By default an interrupt meanwhile prints a traceback through their
files.
"""

import os
import signal
import sys
from pathlib import Path


def _is_command() -> bool:
    """Tells whether this process is the command line: `randpos` or `python -m randpos`."""
    called = Path(*sys.argv[:1])
    if called.name == "-m":  # while Python imports the package of the module that it is to run
        return sys.orig_argv[sys.orig_argv.index("-m") + 1 :][:1] == ["randpos.cli.main"]
    return called.name == "randpos" or called.parts[-2:] == ("randpos", "__main__.py")


if _is_command():
    # XLA prints five lines that ask for a bug report if compiling takes more than two minutes.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: or else a file of ours gets the number, and what libraries print
            os.open(os.devnull, os.O_RDWR)
    # Not where interrupts are ignored, as in the background of a script.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `randpos.cli.main.main` takes over

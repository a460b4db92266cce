"""Runs a command line as a terminal would, and holds it to what every command line promises."""

import io
import re
import sys
import warnings
from collections.abc import Sequence

from randpos.cli.main import main

PROGRESS = ("compiling ", "testing ", "training ")
"""How lines that show progress begin."""


def run_command(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Runs a command; returns its exit code and what it printed and said.

    Whatever it is given: the code is 0 or 2, 2 comes with a sentence, and every line that is said
    begins with the program's name, or shows progress: no traceback, and no terminal commands.
    """
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = streams
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            try:
                code = main(arguments)
            except SystemExit as stop:  # --help
                code = stop.code
    finally:
        sys.stdout, sys.stderr = before
    texts = []
    for stream in streams:
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    out, err = texts
    assert code in (0, 2, None), (code, err)
    lines = err.split("\n")[:-1]
    assert all(line.startswith(("randpos: ", *PROGRESS)) for line in lines), err
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]", err), err
    assert len(err) < 20_000 or len(lines) > 5, err[:500]
    if code == 2:
        assert lines, "exit code 2, but not a word"
    return code or 0, out, err

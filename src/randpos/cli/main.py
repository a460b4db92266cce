"""The command line: parses, calls, prints. Bad input gets one sentence and exit code 2."""

import io
import os
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Sequence

from randpos import __version__
from randpos.cli.commands import COMMANDS, Command, usage
from randpos.errors import UserError, plain, unknown
from randpos.training import BACKGROUND


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    _prepare()
    try:
        _obey(arguments)
        sys.stdout.flush()  # Now, so that write errors are reported.
    except UserError as error:
        print(f"randpos: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("randpos: stopped; run the same command again to continue.", file=sys.stderr)
        if any(thread.name == BACKGROUND for thread in threading.enumerate()):
            # Python would wait until XLA has compiled. All runs are saved and unlocked by now.
            sys.stdout.flush()
            os._exit(130)
        return 130
    except BrokenPipeError:
        _abandon_output()
        return 0
    except OSError as error:  # No caller has explained it.
        if error.filename is None:
            _abandon_output()
        where = error.filename or "the output"
        print(f"randpos: {plain(f'{where} cannot be used: {error.strerror}.')}", file=sys.stderr)
        return 2
    except Exception as error:
        print(f"randpos: {describe_crash(error, arguments)}", file=sys.stderr)
        return 1
    return 0


def describe_crash(error: Exception, arguments: Sequence[str]) -> str:
    """Writes a traceback to a file; returns a sentence with the reason, the file and a way out."""
    text = " ".join(str(error).split()) or "no message"
    reason = plain(f"{type(error).__name__}: {text}", 200)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="randpos-crash-", suffix=".txt", delete=False
    ) as file:
        file.write(f"randpos {__version__}: {' '.join(arguments)}\n\n")
        file.write("".join(traceback.format_exception(error)))
    way = "run the same command again, and report that file if it happens twice"
    if "RESOURCE_EXHAUSTED" in text or isinstance(error, MemoryError):
        way = "pass a smaller --batch or a smaller model, or free some memory"
    return f"stopped by an error inside a library ({reason}); details are in {file.name}; {way}."


def _prepare() -> None:
    """Sets up streams and warnings."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # Closed by the parent process.
            setattr(sys, name, io.StringIO())
        elif isinstance(stream, io.TextIOWrapper):  # Unprintable characters become ?.
            stream.reconfigure(errors="replace")
    warnings.showwarning = lambda message, *_: print(
        f"randpos: {plain(str(message))}", file=sys.stderr
    )


def _handle_signals() -> None:
    """Turns SIGINT and SIGTERM into `KeyboardInterrupt`.

    Called after the imports of a command: until then `startup` lets an interrupt end the process.
    """
    if threading.current_thread() is threading.main_thread():
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        # Batch systems send SIGTERM before they take the machine back.
        signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(*_: object) -> None:
    # A second SIGTERM ends the process: the first may wait for a library that handles no signals.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise KeyboardInterrupt


def find_command(arguments: Sequence[str]) -> tuple[str, Command, Sequence[str]]:
    """Returns the name of the command, the command, and the arguments that follow it."""
    for words in (2, 1):
        name = " ".join(arguments[:words])
        if name in COMMANDS:
            return name, COMMANDS[name], arguments[words:]
    raise unknown("command", arguments[0], COMMANDS)


def enable_cache() -> None:
    """Turns on the cache of compiled programs."""
    from randpos.training import compilation

    compilation.enable_cache()


def _obey(arguments: Sequence[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return
    if arguments[0] == "--version":
        print(__version__)
        return
    name, command, rest = find_command(arguments)
    from randpos.cli.parsing import parse

    kind = command.load()
    _handle_signals()
    try:
        ready = parse(name, rest, kind)
        if command.compiles:
            enable_cache()
        ready()
    except SystemExit as stop:
        # Rich turns a closed pipe into SystemExit.
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        sys.stdout.flush()
        raise


def _abandon_output() -> None:
    """Drops unwritten output; otherwise Python retries at exit and prints an error."""
    sys.stdout = io.StringIO()


if __name__ == "__main__":
    sys.exit(main())

"""The command line: parses, calls, prints. Bad input gets one sentence and exit code 2."""

import contextlib
import io
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tyro

from randpos import __version__
from randpos.cli.benchmarking import ExportTasks, HarnessTasks
from randpos.cli.listing import Encodings, Export, Tasks
from randpos.cli.playground import Playground
from randpos.cli.reporting import Figures, Report, Reproduce, Tables
from randpos.cli.runs import Runs
from randpos.cli.sweeping import Sweep
from randpos.cli.training import Evaluate, Train
from randpos.errors import UserError, plain, unknown
from randpos.experiment import PRESETS, preset
from randpos.training.compilation import enable_cache

COMMANDS: dict[str, Callable[..., Any]] = {
    "train": Train,
    "evaluate": Evaluate,
    "sweep": Sweep,
    "reproduce": Reproduce,
    "report": Report,
    "table": Tables,
    "figure": Figures,
    "playground": Playground,
    "runs": Runs,
    "tasks": Tasks,
    "tasks export": ExportTasks,
    "tasks harness": HarnessTasks,
    "encodings": Encodings,
    "export": Export,
}


def parse(arguments: Sequence[str]) -> Callable[[], None]:
    """Turns a command line into a command that is ready to run."""
    name, *rest = arguments
    if " ".join(arguments[:2]) in COMMANDS:  # a command of two words
        name, rest = " ".join(arguments[:2]), list(arguments[2:])
    if name not in COMMANDS:
        raise unknown("command", name, COMMANDS)
    for flag, value in zip(rest, [*rest, None][1:], strict=True):
        if flag.partition("=")[0] in ("--store", "--out") and (value == "" or flag.endswith("=")):
            raise UserError(f"{flag.rstrip('=')} is empty; name a file or a folder.")
    options: dict[str, Any] = {"args": rest, "prog": f"randpos {name}"}
    if name == "train":
        chosen: Any = _preset_of(rest)
        options["default"] = Train(experiment=preset(chosen), preset=chosen)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(COMMANDS[name], **options)
    except SystemExit as stop:
        if not stop.code:
            raise
        raise UserError(_sentence(said.getvalue(), name)) from stop


def _preset_of(arguments: Sequence[str]) -> str:
    """Finds --preset before the parser runs: it decides the defaults that the parser shows."""
    for flag, value in zip(arguments, [*arguments, ""][1:], strict=True):
        if flag == "--preset" or flag.startswith("--preset="):
            chosen = value if flag == "--preset" else flag.partition("=")[2]
            if chosen not in PRESETS:
                raise unknown("preset", chosen, PRESETS)
            return chosen
    return "paper"


def _sentence(text: str, command: str) -> str:
    """Makes one sentence of what the parser prints in a box."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    words = " ".join(re.sub(r"[╭╮╰╯│─]+|-{3,}", " ", plain).split())
    for noise in (
        r"^(Parsing error|Value error|Invalid choice|Required options|Unrecognized options) ",
        r"^Error parsing experiment\.?[a-z.]*: ",
        r"(Argument helptext:|For full helptext).*$",
    ):
        words = re.sub(noise, "", words).strip().rstrip(".")
    return f"{words or 'the arguments could not be read'}; see randpos {command} --help."


def usage() -> str:
    """Lists the commands."""
    lines = [
        f"  {name:<14} {(command.__doc__ or '').splitlines()[0]}"
        for name, command in COMMANDS.items()
    ]
    return "\n".join(
        [
            f"randpos {__version__}: randomized positional encodings for length generalization.",
            "",
            "usage: randpos COMMAND [OPTIONS]",
            "",
            *lines,
            "",
            "randpos COMMAND --help tells all options of a command.",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    _prepare()
    try:
        _obey(arguments)
        sys.stdout.flush()  # while a full disk can still be told
    except UserError as error:
        print(f"randpos: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("randpos: stopped; run the same command again to continue.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _abandon_output()
        return 0
    except OSError as error:  # that nobody nearer to it has explained
        if error.filename is None:
            _abandon_output()
        where = error.filename or "the output"
        print(f"randpos: {plain(f'{where} cannot be used: {error.strerror}.')}", file=sys.stderr)
        return 2
    return 0


def _prepare() -> None:
    """Sets up streams, signals and warnings."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, io.StringIO())
        elif isinstance(stream, io.TextIOWrapper):  # what a terminal cannot show, it shows as ?
            stream.reconfigure(errors="replace")
    if threading.current_thread() is threading.main_thread():
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as `startup` has set it
            signal.signal(signal.SIGINT, signal.default_int_handler)
        # A batch system that takes the machine back asks so: it is obeyed as an interrupt is.
        signal.signal(signal.SIGTERM, _interrupt)
    warnings.showwarning = lambda message, *_: print(
        f"randpos: {plain(str(message))}", file=sys.stderr
    )


def _interrupt(*_: object) -> None:
    # Asked a second time it ends at once: the first may wait for a library that hears no signals.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise KeyboardInterrupt


def _obey(arguments: Sequence[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
    elif arguments[0] == "--version":
        print(__version__)
    else:
        try:
            enable_cache()
            parse(arguments)()
        except SystemExit as stop:
            if isinstance(stop.__context__, BrokenPipeError):  # which Rich answers so
                raise stop.__context__ from None
            sys.stdout.flush()
            raise


def _abandon_output() -> None:
    """Forgets what could not be written: Python would try, and complain, once more at its end."""
    sys.stdout = io.StringIO()


if __name__ == "__main__":
    sys.exit(main())

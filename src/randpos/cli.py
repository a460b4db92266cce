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
from randpos.commands.listing import Encodings, Export, Tasks
from randpos.commands.reporting import Figures, Report, Reproduce, Tables
from randpos.commands.runs import Runs
from randpos.commands.sweeping import Sweep
from randpos.commands.training import Evaluate, Train
from randpos.compilation import enable_cache
from randpos.config import PRESETS, preset
from randpos.errors import UserError, plain, unknown

COMMANDS: dict[str, Callable[..., Any]] = {
    "train": Train,
    "evaluate": Evaluate,
    "sweep": Sweep,
    "reproduce": Reproduce,
    "report": Report,
    "table": Tables,
    "figure": Figures,
    "runs": Runs,
    "tasks": Tasks,
    "encodings": Encodings,
    "export": Export,
}


def parse(arguments: Sequence[str]) -> Callable[[], None]:
    """Turns a command line into a command that is ready to run."""
    name, *rest = arguments
    if name not in COMMANDS:
        raise unknown("command", name, COMMANDS)
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
        f"  {name:<10} {(command.__doc__ or '').splitlines()[0]}"
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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal cannot show, it shows as ?
            stream.reconfigure(errors="replace")
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0
    if arguments[0] == "--version":
        print(__version__)
        return 0
    # A batch system that takes the machine back asks so: it is obeyed as an interrupt is.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    warnings.showwarning = lambda message, *_: print(
        f"randpos: {plain(str(message))}", file=sys.stderr
    )
    try:
        enable_cache()
        parse(arguments)()
    except UserError as error:
        print(f"randpos: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("randpos: stopped; run the same command again to continue.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0
    except OSError as error:  # that nobody nearer to it has explained
        where = error.filename or "a file"
        print(f"randpos: {plain(f'{where} cannot be used: {error.strerror}.')}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

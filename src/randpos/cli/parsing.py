"""Parses a command line: defaults of a budget, help, and messages for mistakes."""

import ast
import contextlib
import dataclasses
import difflib
import functools
import inspect
import io
import itertools
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import tyro

from randpos.cli.commands import COMMANDS
from randpos.errors import UserError, quoted, unknown
from randpos.experiment import PRESETS, preset

SYNONYMS = {
    "--lr": "--learning-rate",
    "--rate": "--learning-rate",
    "--batch-size": "--batch",
    "--max-length": "--test-length",
    "--length": "--max-length",
    "--examples": "--batch",
    "--optimizer": "--optimizer.name",
    "--layers": "--model.layers",
    "--heads": "--model.heads",
    "--dim": "--model.dim",
    "--output": "--out",
    "-o": "--out",
}
"""Flags that people try, and what they may be called here."""


def parse(name: str, arguments: Sequence[str], kind: Callable[..., Any]) -> Callable[[], None]:
    """Returns a command that is ready to run.

    Args:
        name: The command's name.
        arguments: What follows it; --preset is another name for --budget.
        kind: The command's class.

    Raises:
        UserError: The arguments cannot be read.
        SystemExit: Help was asked for, and has been printed.
    """
    arguments = [re.sub("^--preset(?==|$)", "--budget", argument) for argument in arguments]
    for place, flag in enumerate(arguments[:-1]):
        if flag == "--positions.maximum" and arguments[place + 1] == "auto":
            arguments[place + 1] = "0"
    for flag, value in zip(arguments, [*arguments, None][1:], strict=True):
        if flag.partition("=")[0] in ("--store", "--out") and (value == "" or flag.endswith("=")):
            raise UserError(f"{flag.rstrip('=')} is empty; name a file or a folder.")
    show_plainly(kind)
    options: dict[str, Any] = {"args": arguments, "prog": f"randpos {name}"}
    options["description"] = description(name, kind)
    if name == "train":
        chosen = budget_of(arguments)
        options["default"] = kind(experiment=preset(chosen), budget=chosen)
    said, asked = io.StringIO(), _Help()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(asked):
            return tyro.cli(kind, **options)
    except SystemExit as stop:
        if not stop.code:
            print(tidy(asked.getvalue(), shutil.get_terminal_size().columns), end="")
            raise
        options["args"] = ["--help"]
        raise misread_option(name, arguments, flags_of(kind, options)) or UserError(
            sentence(said.getvalue(), name)
        ) from stop


class _Help(io.StringIO):
    """Collects help as standard output would get it: with its colours and frames."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = sys.stdout

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The encoding of standard output, which decides how boxes are drawn."""
        return self._shown.encoding or "utf-8"

    def isatty(self) -> bool:
        """Whether standard output is a terminal."""
        return self._shown.isatty()


def tidy(text: str, width: int) -> str:
    r"""Returns help with the lines above its boxes wrapped, and without the boxes' empty lines.

    >>> print(tidy("Trains a model of a task.\n\n│ --steps INT  Steps. │\n│        │\n", 15))
    Trains a model
    of a task.
    <BLANKLINE>
    │ --steps INT  Steps. │
    <BLANKLINE>
    """
    lines: list[str] = []
    for line in text.split("\n"):
        if re.fullmatch(r"(\x1b\[[0-9;]*m)*│(\x1b\[[0-9;]*m)* +(\x1b\[[0-9;]*m)*│\S*", line):
            continue
        long = len(line) > width and not re.match(r"(\x1b\[[0-9;]*m)*[╭╰│]", line)
        indent = " " * 4 if line.startswith((" ", "usage")) else ""
        lines += textwrap.wrap(line, width, subsequent_indent=indent) if long else [line]
    return "\n".join(lines)


def description(name: str, kind: Callable[..., Any]) -> str:
    """Returns the text above a command's options: what it does, and two examples."""
    paragraphs = [" ".join(part.split()) for part in (kind.__doc__ or "").split("\n\n")]
    lines = [f"  randpos {example}" for example in COMMANDS[name].examples]
    return "\n".join(["\n\n".join(paragraphs), "", "Examples:", *lines])


def budget_of(arguments: Sequence[str]) -> str:
    """Returns the value of --budget, which decides the defaults that the parser shows."""
    for flag, value in zip(arguments, [*arguments, ""][1:], strict=True):
        name, equals, given = flag.partition("=")
        if name == "--budget":
            chosen = given if equals else value
            if chosen not in PRESETS:
                raise unknown("budget", chosen, PRESETS)
            return chosen
    return "laptop"


@functools.cache
def show_plainly(kind: Any) -> None:
    """Prepares a command's class for its help, once: names for positionals, no empty defaults."""
    hints = get_type_hints(kind, include_extras=True)
    helps = explanations(kind)
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        bare, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if dataclasses.is_dataclass(bare):
            show_plainly(bare)
        options: dict[str, Any] = {}
        if field.name in helps:
            options["help"] = helps[field.name]
        if field.default is None or field.default in ((), ""):
            options["help_behavior_hint"] = ""
        if field.default is None:
            options["metavar"] = metavar(next(x for x in get_args(bare) if x is not type(None)))
        if tyro.conf.Positional in extras and get_origin(bare) is not Literal:
            several = " ..." if get_origin(bare) is tuple else ""
            needed = field.default is dataclasses.MISSING
            shown = field.name.upper() + several
            options["metavar"] = shown if needed else f"[{shown}]"
        if options:
            kind.__annotations__[field.name] = Annotated[hint, tyro.conf.arg(**options)]


def explanations(kind: type) -> dict[str, str]:
    """Returns the docstrings below the fields of a class and of its bases, each as one line.

    The parser's own reading keeps the line breaks of the source.
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(body, ast.ClassDef)
        for field, below in itertools.pairwise(body.body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(text))):
                    found[name] = " ".join(text.split())
    return found


def metavar(kind: Any) -> str:
    """Returns the placeholder of a value in help.

    >>> metavar(int), metavar(Literal["text", "json"])
    ('INT', '{text,json}')
    """
    return f"{{{','.join(get_args(kind))}}}" if get_args(kind) else kind.__name__.upper()


def flags_of(kind: Callable[..., Any], options: dict[str, Any]) -> list[str]:
    """Returns all flags of a command, as its help lists them."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        tyro.cli(kind, **options)
    return sorted(set(re.findall(r"(?<=[ │])--[a-z][a-z.-]*", said.getvalue())))


def misread_option(name: str, arguments: Sequence[str], flags: Sequence[str]) -> UserError | None:
    """Returns the error for the first option that the command does not have, with a suggestion."""
    for argument in arguments:
        flag = argument.partition("=")[0]
        known = {flag, flag.replace("_", "-")} & set(flags)
        if known or not re.fullmatch(r"--?[A-Za-z][\w.-]*", flag):
            continue
        last = {option.rpartition(".")[2].removeprefix("--"): option for option in flags}
        near = SYNONYMS.get(flag)
        if near not in flags:
            near = last.get(flag.removeprefix("--"))
        if near is None and (close := difflib.get_close_matches(flag, flags, n=1)):
            near = close[0]
        hint = f"; did you mean {near}? See" if near else "; see"
        return UserError(f"randpos {name} has no option {quoted(flag)}{hint} its --help.")
    return None


def sentence(text: str, command: str) -> str:
    """Returns what the parser prints in a box as one sentence.

    >>> sentence("invalid choice 'our' for argument '--show'. Expected one of ('ours', 'both')", "")
    "Unknown --show 'our'; did you mean 'ours'? Known: both, ours."
    """
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    words = " ".join(re.sub(r"[╭╮╰╯│─]+|-{3,}", " ", plain).split())
    for noise in (
        r"^(Parsing error|Value error|Invalid choice|Required options|Unrecognized options) ",
        r"^Error parsing experiment\.?[a-z.]*: ",
        r"(Argument helptext:|For full helptext).*$",
    ):
        words = re.sub(noise, "", words).strip().rstrip(".")
    choice = r"invalid choice '(.*)' for argument '(\S+)'\. Expected one of \((.*)\)"
    if match := re.fullmatch(choice, words):
        value, flag, known = match.groups()
        names = [name for name in re.findall(r"'([^']*)'", known) if name != "None"]
        return str(unknown(flag, value, names))
    if match := re.match(r"Missing from randpos [\w ]+: (\S+)", words):
        return f"randpos {command} needs {match[1]}; see its --help."
    return f"{words or 'the arguments could not be read'}; see randpos {command} --help."

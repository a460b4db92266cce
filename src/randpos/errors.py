"""The exception for bad input, and checks of numbers that many settings share."""

import difflib
import math
from collections.abc import Iterable


class UserError(ValueError):
    """Bad input. The message is one sentence naming the field, the value and the way out.

    The command line prints it alone and exits with code 2.
    """

    def __init__(self, message: str) -> None:
        super().__init__(plain(message))


class StorageError(UserError):
    """The file system failed: the disk is full, a folder is read-only, a file is not accessible."""


def plain(text: str, most: int = 1000) -> str:
    r"""Returns text as one line without control characters, shortened in the middle.

    >>> plain("two\nlines, \x1b[2J")
    'two\\nlines, \\x1b[2J'
    """
    if len(text) > most:
        text = f"{text[: most // 2]} … {text[-most // 2 :]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def quoted(value: object) -> str:
    """Returns the `repr` of a value of any size, shortened.

    >>> quoted("name"), len(quoted("long" * 1000)) < 100
    ("'name'", True)
    """
    try:
        return plain(repr(value), 80)
    except (ValueError, RecursionError):  # Thousands of digits or of brackets.
        return f"({type(value).__name__} too large to be shown)"


def check_count(name: str, value: int, most: int = 2**31 - 1) -> None:
    """Raises `UserError` unless 1 <= value <= most."""
    if value < 1:
        raise UserError(f"{name}={quoted(value)} must be at least 1.")
    if value > most:
        raise UserError(f"{name}={quoted(value)} must be at most {most:,}.")


def check_seconds(name: str, value: float) -> None:
    """Raises `UserError` unless the value is finite and not negative."""
    if not 0 <= value < math.inf:
        raise UserError(f"{name}={value} must be a number of seconds.")


def check_seed(name: str, value: int) -> None:
    """Raises `UserError` unless the seed fits into 32 bits."""
    if not 0 <= value < 2**32:
        raise UserError(f"{name}={quoted(value)} must lie between 0 and 2^32 - 1.")


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """Returns the error for an unknown name, with the known names and the nearest one.

    >>> unknown("encoding", "rotary", ["rope", "alibi"])
    UserError("Unknown encoding 'rotary'; known: alibi, rope.")
    >>> unknown("task", "reverse_strin", ["reverse_string"])
    UserError("Unknown task 'reverse_strin'; did you mean 'reverse_string'? Known: reverse_string.")
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1) if len(name) < 100 else []
    listed = ", ".join(names)
    if near:
        return UserError(f"Unknown {kind} {name!r}; did you mean {near[0]!r}? Known: {listed}.")
    return UserError(f"Unknown {kind} {quoted(name)}; known: {listed}.")

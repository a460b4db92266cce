"""The one exception that a user's mistake raises: a sentence that says what to change."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """Bad input. The message is one sentence naming the field, the value and the way out.

    The command line prints it alone and exits with code 2.
    """


class StorageError(UserError):
    """The file system refuses: the disk is full, a folder is read-only, a file is not ours."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """Returns the error for a `name` that is none of the `known` ones of its `kind`.

    >>> unknown("encoding", "rotary", ["rope", "alibi"])
    UserError("Unknown encoding 'rotary'; known: alibi, rope.")
    >>> unknown("task", "reverse_strin", ["reverse_string"])
    UserError("Unknown task 'reverse_strin'; did you mean 'reverse_string'? Known: reverse_string.")
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    listed = ", ".join(names)
    if near:
        return UserError(f"Unknown {kind} {name!r}; did you mean {near[0]!r}? Known: {listed}.")
    return UserError(f"Unknown {kind} {name!r}; known: {listed}.")

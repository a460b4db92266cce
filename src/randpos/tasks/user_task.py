"""Tasks from a user's own file, named as `module:Class`."""

import inspect
from typing import Any, get_args

from randpos.errors import UserError
from randpos.tasks.base import Level, Task
from randpos.user_code import load_class

ATTRIBUTES = ("name", "level", "description", "symbols", "output_symbols", "chance")


def load(path: str) -> Task:
    """Returns an instance of the `Task` that `path`, a `module:Class`, names."""
    kind: Any = load_class(path, Task, ATTRIBUTES)
    if kind.level not in get_args(Level):
        levels = ", ".join(get_args(Level))
        raise UserError(f"Task {path!r}: level is {kind.level!r}; it must be one of {levels}.")
    if inspect.isabstract(kind):
        methods = ", ".join(sorted(kind.__abstractmethods__))
        raise UserError(f"Task {path!r}: define the method(s) {methods}.")
    try:
        return kind()
    except TypeError as error:
        raise UserError(f"Task {path!r}: {kind.__name__}() failed: {error}.") from error

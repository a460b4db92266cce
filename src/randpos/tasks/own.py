"""Tasks from a user's own file, named as `module:Class`."""

import contextlib
import importlib
import inspect
import os
import sys
from typing import get_args

from randpos.errors import UserError
from randpos.tasks.base import Level, Task

FACTS = ("name", "level", "description", "symbols", "output_symbols", "chance")


def load(path: str) -> Task:
    """Returns an instance of the `Task` that `path`, a `module:Class`, names.

    The module may lie in the current directory.
    """
    module_name, _, class_name = path.partition(":")
    if not (module_name and class_name):
        raise UserError(f"Task {path!r}: write it as module:Class.")
    module = _import(module_name, path)
    kind = getattr(module, class_name, None)
    if kind is None:
        raise UserError(
            f"Task {path!r}: module {module_name!r} has no class {class_name!r}; "
            f"it has {_task_names(module) or 'no task at all'}."
        )
    if not (inspect.isclass(kind) and issubclass(kind, Task)):
        raise UserError(f"Task {path!r}: {class_name} is no subclass of randpos.tasks.Task.")
    missing = [fact for fact in FACTS if not hasattr(kind, fact)]
    if missing:
        raise UserError(f"Task {path!r}: set the class attribute(s) {', '.join(missing)}.")
    if kind.level not in get_args(Level):
        levels = ", ".join(get_args(Level))
        raise UserError(f"Task {path!r}: level is {kind.level!r}; it must be one of {levels}.")
    if inspect.isabstract(kind):
        methods = ", ".join(sorted(kind.__abstractmethods__))
        raise UserError(f"Task {path!r}: define the method(s) {methods}.")
    try:
        return kind()
    except TypeError as error:
        raise UserError(f"Task {path!r}: {class_name}() failed: {error}.") from error


def _import(name: str, path: str):
    """Imports a module, from the current directory too, which `sys.path` may not contain."""
    with contextlib.suppress(OSError):  # of a current directory that is gone
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UserError(
                f"Task {path!r}: there is no module {name!r}; "
                f"name a file of the current directory without its .py, or an installed module."
            ) from error
        raise UserError(f"Task {path!r}: importing {name!r} failed: {error}.") from error
    except Exception as error:  # the user's file may do anything
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"Task {path!r}: importing {name!r} failed: {reason}.") from error


def _task_names(module: object) -> str:
    """Lists the tasks that a module defines or imports."""
    classes = [(name, kind) for name, kind in vars(module).items() if inspect.isclass(kind)]
    return ", ".join(name for name, kind in classes if issubclass(kind, Task) and kind is not Task)

"""Classes from a user's own file, named as `module:Class`: tasks and encodings."""

import contextlib
import importlib
import inspect
import os
import sys
from types import ModuleType
from typing import TypeVar

from randpos.errors import UserError

Base = TypeVar("Base")


def load_class(path: str, base: type[Base], attributes: tuple[str, ...]) -> type[Base]:
    """Returns the subclass of `base` that `path`, a `module:Class`, names.

    The module may lie in the current directory.

    Args:
        path: The module and the class.
        base: `Task` or `Encoding`; its name begins the error messages.
        attributes: Class attributes that the class must set.

    Raises:
        UserError: The module cannot be imported, or has no such class.
    """
    who = f"{base.__name__} {path!r}"
    module_name, _, class_name = path.partition(":")
    if not (module_name and class_name):
        raise UserError(f"{who}: write it as module:Class.")
    module = _import(module_name, who)
    found = getattr(module, class_name, None)
    if found is None:
        raise UserError(
            f"{who}: module {module_name!r} has no class {class_name!r}; "
            f"it has {_names(module, base) or f'no {base.__name__.lower()} at all'}."
        )
    if not (inspect.isclass(found) and issubclass(found, base)):
        public = f"randpos.{base.__name__}"
        raise UserError(f"{who}: {class_name} is not a subclass of {public}.")
    missing = [name for name in attributes if not hasattr(found, name)]
    if missing:
        raise UserError(f"{who}: set the class attribute(s) {', '.join(missing)}.")
    return found


def _import(name: str, who: str) -> ModuleType:
    """Imports a module, also from the current directory, which `sys.path` may not contain."""
    with contextlib.suppress(OSError):  # The current directory was removed.
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UserError(
                f"{who}: there is no module {name!r}; "
                f"name a file of the current directory without its .py, or an installed module."
            ) from error
        raise UserError(f"{who}: importing {name!r} failed: {error}.") from error
    except Exception as error:  # The user's file may raise anything.
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"{who}: importing {name!r} failed: {reason}.") from error


def _names(module: ModuleType, base: type) -> str:
    """Lists the subclasses of `base` that a module defines or imports."""
    classes = [(name, kind) for name, kind in vars(module).items() if inspect.isclass(kind)]
    return ", ".join(name for name, kind in classes if issubclass(kind, base) and kind is not base)

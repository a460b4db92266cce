"""Settings as plain data: nested dicts to dotted keys, and to the arguments of dataclasses."""

import dataclasses
from functools import cache, lru_cache
from typing import Any

from randpos.errors import UserError, quoted


def flat(data: Any, prefix: str = "") -> dict[str, Any]:
    """Flattens nested dicts to dotted keys; anything else gives no keys.

    >>> flat({"steps": 1, "positions": {"maximum": 2048}})
    {'steps': 1, 'positions.maximum': 2048}
    """
    found: dict[str, Any] = {}
    for name, value in data.items() if isinstance(data, dict) else ():
        path = f"{prefix}{name}"
        found |= flat(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return found


@cache
def field_names(kind: type) -> tuple[str, ...]:
    """Returns the names of the fields of a dataclass."""
    return tuple(f.name for f in dataclasses.fields(kind))


def read_fields(kind: type, data: Any, where: str) -> dict[str, Any]:
    """Returns the arguments of a dataclass from plain data; nested dataclasses are built.

    Args:
        kind: The dataclass. Every field has a default, which decides its type.
        data: A dict, as JSON or TOML gives it.
        where: The name of `data` in error messages.

    Raises:
        UserError: A name is unknown, or a value has the wrong type.
    """
    if not isinstance(data, dict):
        raise UserError(f"{where} must be a table of fields, not {quoted(data)}.")
    fields = {f.name: f for f in dataclasses.fields(kind)}
    if extra := sorted(set(map(str, data)) - set(fields)):
        raise UserError(f"{where} has no field {quoted(extra[0])}; it has: {', '.join(fields)}.")
    values = {}
    for name, value in data.items():
        default = fields[name].default
        if default is dataclasses.MISSING:
            part: Any = fields[name].default_factory
            values[name] = _part(part, tuple(read_fields(part, value, f"{where}.{name}").items()))
            continue
        if isinstance(default, float) and type(value) is int and abs(value) < 2**64:
            value = float(value)
        if type(value) is not type(default):
            kind_name = type(default).__name__
            raise UserError(f"{where}.{name}={quoted(value)} must be of type {kind_name}.")
        values[name] = value
    return values


@lru_cache(maxsize=256)
def _part(kind: type, values: tuple[tuple[str, Any], ...]) -> Any:
    """Builds a nested dataclass; thousands of runs share a few of them."""
    return kind(**dict(values))

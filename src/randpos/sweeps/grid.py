"""Grids of experiments: pure data that expands to experiments, in a fixed order."""

import dataclasses
import itertools
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from randpos.errors import StorageError, UserError, quoted
from randpos.experiment import Experiment, flat
from randpos.store.files import read_file

MOST = 100_000
"""Runs that a grid may have: more of them is a slip of the pen."""


@dataclass(frozen=True)
class Grid:
    """A product of settings. Names are fields of `Experiment`, with dots into its parts.

    >>> grid = Grid("mine", {"steps": 10}, {"encoding": ["rope", "alibi"], "seed": [0, 1]})
    >>> [(e.encoding, e.seed, e.steps) for e in grid.expand()]
    [('rope', 0, 10), ('rope', 1, 10), ('alibi', 0, 10), ('alibi', 1, 10)]
    """

    name: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Settings that all runs share."""
    axes: Mapping[str, Any] = field(default_factory=dict)
    """Settings that are varied, each with a list of values; the last varies fastest."""

    def expand(self, base: Mapping[str, Any] | None = None) -> list[Experiment]:
        """Returns the experiments, over a `base` of settings that the grid may override."""
        for name, values in self.axes.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                told = quoted(values)
                raise UserError(f"{self.name}: {name} must be a list of values, not {told}.")
        count = math.prod(len(values) for values in self.axes.values())
        if count > MOST:
            raise UserError(f"{self.name} has {count:,} runs; a grid may have {MOST:,}.")
        return [
            _build({**(base or {}), **self.fixed, **dict(zip(self.axes, values, strict=True))})
            for values in itertools.product(*self.axes.values())
        ]


def _build(settings: Mapping[str, Any]) -> Experiment:
    """Makes an experiment of flat settings such as `positions.maximum`."""
    tree: dict[str, Any] = {}
    for name, value in settings.items():
        *path, last = name.split(".")
        inner = tree
        for part in path:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise UserError(f"{name} cannot be set: {part} is a value, not a table of fields.")
        inner[last] = value
    return Experiment.from_dict(tree)


def distinct(experiments: Iterable[Experiment]) -> list[Experiment]:
    """Returns the experiments without repetitions: several grids may share runs."""
    return list({one.digest: one for one in experiments}.values())


def groups(experiments: Iterable[Experiment]) -> list[list[Experiment]]:
    """Gathers the runs that differ only in seed and learning rate: one program serves them."""
    found: dict[Experiment, list[Experiment]] = {}
    for one in experiments:
        common = dataclasses.replace(one, seed=0, learning_rate=1.0)
        found.setdefault(common, []).append(one)
    return list(found.values())


def read_grid(path: Path) -> Grid:
    """Reads a grid from a TOML file with the tables `fixed` and `axes`."""
    try:
        data = tomllib.loads(read_file(path).decode())
    except StorageError:
        raise
    except (ValueError, RecursionError) as error:  # of TOML or of UTF-8
        raise UserError(f"{path} is not valid TOML: {error}.") from error
    if extra := sorted(set(data) - {"fixed", "axes"}):
        raise UserError(f"{path} has the unknown entry {extra[0]!r}; it may have: fixed, axes.")
    parts = {}
    for part in ("fixed", "axes"):
        if not isinstance(data.get(part, {}), dict):
            raise UserError(f"{path}: {part} must be a table of settings.")
        try:
            parts[part] = flat(data.get(part, {}))  # TOML reads a dot as a table within a table
        except RecursionError as error:
            raise UserError(f"{path}: {part} has tables that are too deep.") from error
    return Grid(path.name, **parts)

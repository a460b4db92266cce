"""Grids: pure data that expands to a list of experiments in a fixed order."""

import dataclasses
import itertools
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from randpos.errors import StorageError, UserError, quoted
from randpos.experiment import Experiment
from randpos.plain_data import flat
from randpos.settings import AUTO
from randpos.store.files import read_file

MAX_RUNS = 100_000
"""Largest grid; more runs are assumed to be a mistake."""


@dataclass(frozen=True)
class Grid:
    """The product of settings. Names are fields of `Experiment`, with dots into its parts.

    >>> grid = Grid("mine", {"steps": 10}, {"encoding": ["rope", "alibi"], "seed": [0, 1]})
    >>> [(e.encoding, e.seed, e.steps) for e in grid.expand()]
    [('rope', 0, 10), ('rope', 1, 10), ('alibi', 0, 10), ('alibi', 1, 10)]
    """

    name: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Settings that all runs share. An L of `4x` is four times the tokens of the longest sequence
    that is tested."""
    axes: Mapping[str, Any] = field(default_factory=dict)
    """Settings that vary, each with a list of values; the last one varies fastest."""
    single: bool = False
    """Whether it has one seed and one learning rate, those of the budget, unless it names more."""

    def expand(self, base: Mapping[str, Any] | None = None) -> list[Experiment]:
        """Returns the experiments; settings that the grid does not name come from `base`."""
        for name, values in self.axes.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise UserError(
                    f"{self.name}: {name} must be a list of values, not {quoted(values)}."
                )
        count = math.prod(len(values) for values in self.axes.values())
        if count > MAX_RUNS:
            raise UserError(f"{self.name} has {count:,} runs; a grid may have {MAX_RUNS:,}.")
        return [
            _build({**(base or {}), **self.fixed, **dict(zip(self.axes, values, strict=True))})
            for values in itertools.product(*self.axes.values())
        ]


def _build(settings: Mapping[str, Any]) -> Experiment:
    """Builds an experiment from flat settings such as `positions.maximum`."""
    tree: dict[str, Any] = {}
    for name, value in settings.items():
        *path, last = name.split(".")
        inner = tree
        for part in path:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise UserError(f"{name} cannot be set: {part} is a value, not a table of fields.")
        inner[last] = value
    ratio = _ratio(settings.get("positions.maximum"))
    if ratio is not None:
        tree["positions"]["maximum"] = 0
    from randpos.setup import choose_maximum  # JAX, which takes seconds to import

    return choose_maximum(Experiment.from_dict(tree), ratio or AUTO)


def _ratio(maximum: Any) -> float | None:
    """Returns 1.25 for an L of `1.25x`, 1.25 times the tokens of the longest tested sequence."""
    if maximum == "auto":
        return AUTO
    if not isinstance(maximum, str):
        return None
    try:
        ratio = float(maximum.removesuffix("x"))
    except ValueError:
        ratio = math.nan
    if not (maximum.endswith("x") and 1 <= ratio < math.inf):
        raise UserError(
            f"positions.maximum={quoted(maximum)} must be a number, auto, or a multiple of the "
            "longest tested sequence such as 1.25x."
        )
    return ratio


def distinct(experiments: Iterable[Experiment]) -> list[Experiment]:
    """Returns the experiments without duplicates, in the order of their first occurrence."""
    return list({experiment.digest: experiment for experiment in experiments}.values())


def program(experiment: Experiment) -> Experiment:
    """Returns the experiment without its seed and learning rate.

    Runs with the same result share one compiled program.
    """
    return dataclasses.replace(experiment, seed=0, learning_rate=1.0)


def groups(experiments: Iterable[Experiment]) -> list[list[Experiment]]:
    """Groups the experiments that share one program."""
    found: dict[Experiment, list[Experiment]] = {}
    for experiment in experiments:
        found.setdefault(program(experiment), []).append(experiment)
    return list(found.values())


def read_grid(path: Path) -> Grid:
    """Reads a grid from a TOML file with the tables `fixed` and `axes`.

    The grid has exactly the runs that the file names: one seed and one learning rate, unless the
    file has more.
    """
    try:
        data = tomllib.loads(read_file(path).decode())
    except StorageError:
        raise
    except (ValueError, RecursionError) as error:  # invalid TOML or UTF-8
        raise UserError(f"{path} is not valid TOML: {error}.") from error
    if extra := sorted(set(data) - {"fixed", "axes"}):
        raise UserError(f"{path} has the unknown entry {extra[0]!r}; it may have: fixed, axes.")
    parts = {}
    for part in ("fixed", "axes"):
        if not isinstance(data.get(part, {}), dict):
            raise UserError(f"{path}: {part} must be a table of settings.")
        try:
            parts[part] = flat(data.get(part, {}))  # a dot in TOML makes a nested table
        except RecursionError as error:
            raise UserError(f"{path}: {part} has tables that are too deep.") from error
    return Grid(path.name, parts["fixed"], parts["axes"], single=True)

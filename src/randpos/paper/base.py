"""The interface of an artifact: a table or figure, where it is made, and its runs as data."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

Section = Literal[
    "Scores",
    "Curves",
    "Means",
    "Statistics",
    "Running times",
    "Ablations",
    "Analysis",
    "Open questions",
    "Decoders",
]


class Runs(NamedTuple):
    """The runs of a `Grid`, as data: grids load JAX, and listing artifacts must not."""

    name: str
    fixed: Mapping[str, Any] = MappingProxyType({})
    axes: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Artifact:
    """A table, a figure or both, made of the runs of some grids."""

    name: str
    """The name on the command line."""
    title: str
    section: Section
    """Where the report page shows it."""
    runs: tuple[Runs, ...] = ()
    """Its runs; seeds, rates and budget come from a `Slice`. Empty if it needs no runs."""
    table: str | None = None
    """`module:function` in `randpos.results.tables`; takes scored runs and a budget or None."""
    figure: str | None = None
    """`module:function` in `randpos.results.figures`; takes the records and the path of a store,
    or nothing if there are no runs."""
    compares_settings: bool = False
    """Whether it compares settings on a few tasks, and so chooses a budget of its own."""

    def make_table(self, scored: Any, budget: Any = None) -> Any:
        """Makes the table of scored runs; see `randpos.results.make_table`."""
        return self._load("tables", self.table)(scored, budget)

    def draw(self, *source: Any) -> Any:
        """Draws the figure, from a store's records and path if it needs runs."""
        return self._load("figures", self.figure)(*(source if self.runs else ()))

    def _load(self, package: str, place: str | None) -> Callable[..., Any]:
        """Imports a function late: figures need Matplotlib, and results import this module."""
        assert place is not None, f"{self.name} has no {package}"
        module, _, function = place.partition(":")
        return getattr(importlib.import_module(f"randpos.results.{package}.{module}"), function)

"""Reports on a store: tables beside the paper's, statistics, and a page that shows all of it.

Names are imported on first use, so that a listing loads no more than it needs.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from randpos.results.page.serve import serve
    from randpos.results.page.write import write_page
    from randpos.results.scores import score_runs
    from randpos.results.selection import Budget, budgets
    from randpos.results.tables.formats import render
    from randpos.results.tables.make import make_table, table_names

_HOME = {
    "Budget": "selection",
    "budgets": "selection",
    "make_table": "tables.make",
    "render": "tables.formats",
    "score_runs": "scores",
    "serve": "page.serve",
    "table_names": "tables.make",
    "write_page": "page.write",
}

__all__ = [
    "Budget",
    "budgets",
    "make_table",
    "render",
    "score_runs",
    "serve",
    "table_names",
    "write_page",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'randpos.results' has no attribute {name!r}")
    return getattr(importlib.import_module(f"randpos.results.{_HOME[name]}"), name)

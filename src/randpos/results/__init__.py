"""Reports on a store: tables beside the paper's, statistics, and a page that shows all of it."""

from randpos.results.page.serve import serve
from randpos.results.page.write import write_page
from randpos.results.scores import score_runs
from randpos.results.selection import Budget, budgets
from randpos.results.tables.formats import render
from randpos.results.tables.make import make_table, table_names

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

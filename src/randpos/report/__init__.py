"""Reports on a store: tables beside the paper's, statistics, and one page that shows it all."""

from randpos.report.budgets import Budget, budgets
from randpos.report.formats import render
from randpos.report.page import write_page
from randpos.report.scores import score_runs
from randpos.report.serve import serve
from randpos.report.tables import make_table, table_names

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

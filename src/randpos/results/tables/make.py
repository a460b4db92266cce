"""The tables of the registry of artifacts, made of a store's runs."""

from randpos.errors import unknown
from randpos.paper.artifacts import ARTIFACTS, tables
from randpos.results.scores import score_runs
from randpos.results.selection import Budget
from randpos.results.tables.table import Table
from randpos.store.tables import StoreTables


def table_names() -> list[str]:
    """Returns the names of all tables."""
    return list(tables())


def make_table(records: StoreTables, name: str, budget: Budget | None = None) -> Table:
    """Makes a table from a store.

    Args:
        records: The store.
        name: One of `table_names()`.
        budget: Which runs to take, of those in `budgets`; by default the budget that has most of
            the table's cells. Other runs are left out, and a note says how many.
    """
    if name not in tables():
        raise unknown("table", name, tables())
    return ARTIFACTS[name].make_table(score_runs(records), budget)

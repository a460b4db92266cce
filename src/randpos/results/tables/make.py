"""The tables of the paper, made of a store's runs, beside the published numbers."""

from collections.abc import Callable

import polars as pl

from randpos.errors import unknown
from randpos.results.budgets import Budget
from randpos.results.scores import score_runs
from randpos.results.tables.comparisons import comparison, gains_table, intervals
from randpos.results.tables.encodings import geometric, means, running_times, scores, sorting
from randpos.results.tables.sweeps import max_position, readings
from randpos.results.tables.table import Table
from randpos.store.tables import StoreTables

Builder = Callable[[pl.DataFrame, Budget | None], Table]

BUILDERS: dict[str, Builder] = {
    "table1": scores,
    "table-means": means,
    "running-times": lambda scored, budget: running_times(scored, budget, scaled=True),
    "running-times-measured": lambda scored, budget: running_times(scored, budget, scaled=False),
    "ablation-sorting": sorting,
    "geometric": geometric,
    "max-position": max_position,
    "readings": readings,
    "gains": gains_table,
    "intervals": intervals,
    "comparison": comparison,
}


def table_names() -> list[str]:
    """Returns the names of all tables."""
    return list(BUILDERS)


def make_table(records: StoreTables, name: str, budget: Budget | None = None) -> Table:
    """Makes a table from a store.

    Args:
        records: The store.
        name: One of `table_names()`.
        budget: Which runs to take, of those in `budgets`; by default the largest budget that the
            table has runs of. Other runs are left out, and a note says how many.
    """
    if name not in BUILDERS:
        raise unknown("table", name, BUILDERS)
    return BUILDERS[name](score_runs(records), budget)

"""The numbers that the paper prints, as tables in long form and as single claims.

Accuracies are percentages here, as in print; everywhere else in the library they are shares.
`tables()` gives the lengths, seeds and rates of each table, and notes inconsistencies in print.
"""

from functools import cache
from importlib.resources import files

import polars as pl

from randpos.errors import unknown

BEST_RANDOMIZED = "best-randomized"
"""In table `geometric`: not an encoding but, per task, the best randomized one."""


@cache
def _read(name: str) -> pl.DataFrame:
    return pl.read_csv((files("randpos.paper") / "data" / f"{name}.csv").read_bytes())


def tables() -> pl.DataFrame:
    """Returns the published tables: name, number, unit, statistics, facts and note."""
    return _read("captions").clone()


def claims() -> pl.DataFrame:
    """Returns the numbers stated in the text: name, value, unit, where and text."""
    return _read("claims").clone()


def claim(name: str) -> float:
    """Returns one number of the text.

    >>> claim("gain_mean")
    12.0
    """
    known = _read("claims")
    if name not in known["name"]:
        raise unknown("claim", name, known["name"])
    return known.row(by_predicate=pl.col("name") == name, named=True)["value"]


def published(table: str) -> pl.DataFrame:
    """Returns a table in long form, in the order of print.

    Args:
        table: `scores`, `running_times`, `sorting`, `means` or `geometric`.

    Returns:
        Columns table, task, encoding, statistic (`max`, `mean` or `sd`) and value; one row for
        each task, encoding and statistic.

    >>> published("sorting").shape
    (30, 5)
    """
    known = _read("captions")["name"]
    if table not in known:
        raise unknown("table", table, known)
    # The paper prints one row of the running times twice.
    return _read("values").filter(pl.col("table") == table).unique(maintain_order=True)


def published_cells(table: str) -> dict[tuple[str, str], dict[str, float]]:
    """Returns a table by task and encoding: its statistics by name.

    >>> published_cells("means")["reverse_string", "randomized-relative"]
    {'mean': 77.1, 'sd': 6.6}
    """
    cells: dict[tuple[str, str], dict[str, float]] = {}
    for task, encoding, statistic, value in published(table).drop("table").iter_rows():
        cells.setdefault((task, encoding), {})[statistic] = value
    return cells


def published_value(table: str, task: str, encoding: str, statistic: str = "max") -> float | None:
    """Returns one cell of a table, or None where the paper has none.

    >>> published_value("scores", "reverse_string", "randomized-relative")
    95.1
    """
    cell = published(table).filter(task=task, encoding=encoding, statistic=statistic)
    return cell["value"].item() if cell.height else None

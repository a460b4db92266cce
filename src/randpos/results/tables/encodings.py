"""Tables with a column for each encoding: scores, means, running times, and the two ablations."""

from collections.abc import Callable, Collection
from typing import Any

import polars as pl

from randpos.catalog import PAPER_ROWS
from randpos.paper import PLAIN, RANDOMIZED, published
from randpos.paper.looks import task_order
from randpos.results.budgets import PAPER, Budget, choose, count, usual
from randpos.results.scores import cells
from randpos.results.tables.labels import encoding_columns, encoding_label, task_row
from randpos.results.tables.table import Cell, Column, Row, Table, Value
from randpos.tasks import TASKS

SCORE = "Accuracy in %, averaged over the lengths beyond training"
OWN_TABLE = [name for name in PAPER_ROWS if name not in (*PLAIN, *RANDOMIZED)]
"""Encodings that the paper shows in tables of their own."""

Data = dict[str, Any]


def best_value(cell: Data) -> Value | None:
    """The maximum over seeds and rates, in percent."""
    if cell["best"] is None:
        return None
    over = f"best of {count(cell['runs'], 'run')} ({count(cell['seeds'], 'seed')} × "
    over += f"{count(cell['rates'], 'rate')}): seed {cell['best_seed']}, rate "
    over += f"{cell['best_rate']:g}"
    if cell["in_domain"] is not None:
        over += f"; in-domain {100 * cell['in_domain']:.1f}"
    return Value(100 * cell["best"], detail=over, run=cell["run"])


def mean_value(cell: Data) -> Value | None:
    """Mean and sd over the seeds of the best rate, in percent."""
    if cell["mean"] is None:
        return None
    over = f"{count(cell['rate_seeds'], 'seed')} at rate {cell['rate']:g}"
    sd = None if cell["sd"] is None else 100 * cell["sd"]
    return Value(100 * cell["mean"], sd, detail=over)


def printed(table: str) -> dict[tuple[str, str], dict[str, float]]:
    """Returns a published table by task and encoding: its statistics by name."""
    known: dict[tuple[str, str], dict[str, float]] = {}
    for row in published(table).iter_rows(named=True):
        known.setdefault((row["task"], row["encoding"]), {})[row["statistic"]] = row["value"]
    return known


def from_paper(table: str, statistic: str) -> dict[tuple[str, str], Value]:
    """Returns one statistic of a published table, means with their sd."""
    cells = printed(table).items()
    return {
        key: Value(one[statistic], one.get("sd") if statistic == "mean" else None)
        for key, one in cells
        if statistic in one
    }


def pair(
    ours: dict[tuple[str, str], Value], theirs: dict[tuple[str, str], Value]
) -> dict[tuple[str, str], Cell]:
    """Puts our values beside the paper's."""
    return {key: Cell(ours.get(key), theirs.get(key)) for key in [*ours, *theirs]}


def task_rows(present: Collection[str]) -> list[Row]:
    """Returns the paper's 15 tasks and whatever other tasks are present."""
    return [task_row(task) for task in task_order([*TASKS, *present])]


def values(chosen: pl.DataFrame, read: Callable[[Data], Value | None]) -> dict:
    """Reads a value from each cell of runs that share a budget and a setting."""
    read_cells = ((cell, read(cell)) for cell in cells(chosen).iter_rows(named=True))
    return {(cell["task"], cell["encoding"]): value for cell, value in read_cells if value}


def _wide(
    scored: pl.DataFrame,
    budget: Budget | None,
    name: str,
    title: str,
    read: Callable[[Data], Value | None],
    theirs: dict[tuple[str, str], Value],
    **more: Any,
) -> Table:
    relevant = usual(scored).filter(~pl.col("encoding").is_in(OWN_TABLE))
    chosen, notes = choose(scored, relevant, budget)
    ours = values(chosen, read)
    columns = encoding_columns(encoding for _, encoding in ours)
    rows = task_rows([task for task, _ in ours])
    unit = more.pop("unit", "%")
    notes += more.pop("notes", [])
    return Table(name, title, unit, columns, rows, pair(ours, theirs), notes, **more)


def scores(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Table 1: the best run over seeds and rates."""
    title = f"Table 1. {SCORE}; maximum over seeds and learning rates"
    return _wide(scored, budget, "table1", title, best_value, from_paper("scores", "max"))


def means(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Table 4: mean and standard deviation over seeds at the best rate."""
    title = f"Table 4. {SCORE}; mean ± sd over seeds at the best learning rate"
    note = "The sd of ours divides by n − 1 and needs two seeds; the paper does not say which."
    theirs = from_paper("means", "mean")
    return _wide(scored, budget, "table-means", title, mean_value, theirs, notes=[note])


def running_times(scored: pl.DataFrame, budget: Budget | None = None, *, scaled: bool) -> Table:
    """Table 2: hours of a run, as measured or as if it had the paper's number of steps."""
    kind = "paper_hours" if scaled else "hours"

    def read(cell: Data) -> Value | None:
        if not cell["timed"]:
            return None
        return Value(cell[kind], cell[f"{kind}_sd"], detail=count(cell["timed"], "run"))

    title = "Table 2. Hours per run, as measured, at the budget of this store"
    notes = ["Members of an ensemble share its time equally; testing is not part of it."]
    if scaled:
        title = f"Table 2. Hours per run, scaled to the paper's {PAPER.steps:,} steps"
        notes.append("The paper's are from one V100, ours from whatever the runs were on.")
    theirs = from_paper("running_times", "mean") if scaled else {}
    name = "running-times" if scaled else "running-times-measured"
    more: Data = {"digits": 2 if scaled else 3, "best": False, "unit": "hours", "notes": notes}
    return _wide(scored, budget, name, title, read, theirs, **more)


def sorting(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Table 3: randomized sin/cos without and with sorting its positions."""
    names = {"unsorted-sincos": "w/o Sorting", "randomized-sincos": "w/ Sorting"}
    relevant = usual(scored).filter(pl.col("encoding").is_in(list(names)))
    chosen, notes = choose(scored, relevant, budget)
    ours = values(chosen, best_value)
    columns = [Column(key, label, "Randomized sin/cos") for key, label in names.items()]
    title = f"Table 3. {SCORE}; positions sorted or not, maximum over seeds and learning rates"
    theirs, rows = from_paper("sorting", "max"), task_rows([task for task, _ in ours])
    return Table("ablation-sorting", title, "%", columns, rows, pair(ours, theirs), notes)


def geometric(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Table 5: geometric attention beside the best randomized encoding of each task."""
    relevant = usual(scored).filter(pl.col("encoding").is_in(["geometric", *RANDOMIZED]))
    chosen, notes = choose(scored, relevant, budget)
    ours: dict[tuple[str, str], Value] = {}
    theirs: dict[tuple[str, str], Value] = {}
    columns = []
    for statistic, read, group in (("max", best_value, "Max"), ("mean", mean_value, "Mean ± SD")):
        for (task, encoding), value in values(chosen, read).items():
            side = "geometric" if encoding == "geometric" else "best-randomized"
            old = ours.get(key := (task, f"{side}-{statistic}"))
            if old is None or value.value > old.value:
                detail = f"{encoding_label(encoding)}: {value.detail}"
                ours[key] = Value(value.value, value.sd, detail=detail, run=value.run)
        for (task, side), value in from_paper("geometric", statistic).items():
            theirs[task, f"{side}-{statistic}"] = value
        columns.append(Column(f"best-randomized-{statistic}", "Best randomized", group))
        columns.append(Column(f"geometric-{statistic}", "Geometric", group))
    blocks = tuple(tuple(c.key for c in columns[i : i + 2]) for i in (0, 2))
    rows = task_rows([task for task, _ in ours])
    title = f"Table 5. {SCORE}; geometric attention with directional encoding"
    both = pair(ours, theirs)
    return Table("geometric", title, "%", columns, rows, both, notes, blocks=blocks)

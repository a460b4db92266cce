"""Tables of what the paper leaves open: the largest position L, and what a random offset is."""

import polars as pl

from randpos.paper import claim
from randpos.paper.looks import task_order
from randpos.results.budgets import PAPER, Budget, choose
from randpos.results.scores import BUDGET, cells
from randpos.results.selection import rivals
from randpos.results.tables.encodings import SCORE, best_value
from randpos.results.tables.labels import encoding_label, encoding_order, task_row
from randpos.results.tables.table import Cell, Column, Row, Table, Value

SWEPT = [(task, "randomized-relative") for task in ("reverse_string", "missing_duplicate")]
"""What the paper varies L for; it draws the result and prints no numbers."""


def _rows(present: set[tuple[str, str]]) -> list[Row]:
    tasks = task_order(task for task, _ in present)
    encodings = encoding_order(encoding for _, encoding in present)
    pairs = [(t, e) for t in tasks for e in encodings if (t, e) in present]
    return [task_row(t, _key(t, e), encoding_label(e)) for t, e in pairs]


def _key(task: str, encoding: str) -> str:
    return f"{task}\n{encoding}"


def _rivals(scored: pl.DataFrame, what: list[str]) -> pl.DataFrame:
    return rivals(scored, what, ["task", "encoding", *BUDGET])


def max_position(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """The sweep over L (appendix B.1)."""
    drawn = scored.filter(
        pl.col("maximum").is_not_null(),
        pl.col("reading") == PAPER.positions.reading,
        pl.col("draw") == PAPER.positions.draw,
    )
    chosen, notes = choose(scored, _rivals(drawn, ["maximum"]), budget)
    ours: dict[tuple[str, str], Cell] = {}
    smallest, largest = int(claim("sweep_smallest")), int(claim("sweep_largest"))
    sizes = {smallest * 2**i for i in range((largest // smallest).bit_length())}
    for cell in cells(chosen).iter_rows(named=True):
        sizes.add(cell["maximum"])
        if value := best_value(cell):
            ours[_key(cell["task"], cell["encoding"]), str(cell["maximum"])] = Cell(value)
    columns = [Column(str(size), f"L = {size:,}") for size in sorted(sizes)]
    rows = _rows({*SWEPT, *chosen.select("task", "encoding").iter_rows()})
    notes.append("The paper draws these results and prints no numbers.")
    title = f"The largest position L. {SCORE}; maximum over seeds and learning rates"
    return Table("max-position", title, "%", columns, rows, ours, notes)


def readings(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """What a randomized offset is, and how often positions are drawn (see docs/fidelity.md)."""
    drawn = scored.filter(pl.col("maximum") == PAPER.positions.maximum)
    chosen, notes = choose(scored, _rivals(drawn, ["reading", "draw"]), budget)
    ours: dict[tuple[str, str], Cell] = {}
    kinds = {(PAPER.positions.reading, PAPER.positions.draw): None}
    for cell in cells(chosen).iter_rows(named=True):
        kind = (cell["reading"], cell["draw"])
        kinds[kind] = None
        value: Value | None = best_value(cell)
        if value:
            ours[_key(cell["task"], cell["encoding"]), "\n".join(kind)] = Cell(value)
    columns = [
        Column("\n".join((reading, draw)), f"{reading}, {draw.replace('_', ' ')}")
        for reading, draw in kinds
    ]
    rows = _rows(set(chosen.select("task", "encoding").iter_rows()))
    notes.append("The first column is the paper's text; the released code differs.")
    title = f"Readings of a random offset. {SCORE}; maximum over seeds and learning rates"
    return Table("readings", title, "%", columns, rows, ours, notes)

"""Tables of what the paper leaves open: the largest position L, and readings of a random offset."""

from collections.abc import Sequence

import polars as pl

from randpos.facts import default_reading
from randpos.paper import claim
from randpos.paper.looks import encoding_label, encoding_order, task_order
from randpos.results.scores import BUDGET, PAPER, cells
from randpos.results.selection import (
    Budget,
    Selection,
    alike_note,
    first_budget,
    rivals,
    seeds_note,
    select,
    usual_maximum,
    within,
)
from randpos.results.tables.cells import SCORE, best_value
from randpos.results.tables.labels import task_row
from randpos.results.tables.table import Cell, Column, Row, Table

READ = "randomized-relative"
SWEPT = [(task, READ) for task in ("reverse_string", "missing_duplicate")]
"""What the paper varies L for; it draws the result and prints no numbers."""
READINGS = ["reading", "draw"]


def compared(
    scored: pl.DataFrame, drawn: pl.DataFrame, setting: Sequence[str], budget: Budget | None
) -> Selection:
    """Returns the runs that differ in a setting only, over the seeds and rates that all have."""
    found = rivals(drawn, setting, ["task", "encoding", *BUDGET])
    budget = budget or first_budget(found, setting)
    runs, notes = select(scored, found, budget, one_way=False)
    notes += alike_note(runs)
    return Selection(runs, [*notes, seeds_note(runs, ["task", "encoding", *setting])])


def swept_over_maximum(scored: pl.DataFrame) -> pl.DataFrame:
    """Keeps the randomized runs that may differ in L: those of the paper's reading and draw."""
    return scored.filter("as_in_text")


def max_position(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """The sweep over L (appendix B.1)."""
    runs, notes = compared(scored, swept_over_maximum(scored), ["maximum"], budget)
    smallest, largest = int(claim("sweep_smallest")), int(claim("sweep_largest"))
    sizes = {smallest * 2**i for i in range((largest // smallest).bit_length())}
    sizes.update(runs["maximum"])
    columns = [Column(str(size), f"L = {size:,}") for size in sorted(sizes)]
    rows = _rows({*SWEPT, *runs.select("task", "encoding").iter_rows()})
    notes.append("The paper draws these results and prints no numbers.")
    title = f"The largest position L. {SCORE}; maximum over seeds and learning rates"
    return Table("max-position", title, "%", columns, rows, _cells(runs, ["maximum"]), notes)


def reading_runs(scored: pl.DataFrame, budget: Budget | None = None) -> Selection:
    """Returns the runs that differ in the reading of an offset or in how often it is drawn."""
    # The L of the most cells that have several readings.
    several = rivals(scored, READINGS, ["task", "encoding", "maximum", *BUDGET])
    budget = budget or first_budget(several, READINGS)
    return compared(scored, usual_maximum(within(several, budget)), READINGS, budget)


def readings(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """What a randomized offset is, and how often positions are drawn (see docs/fidelity.md)."""
    setting = READINGS
    runs, notes = reading_runs(scored, budget)
    usual = (default_reading(READ), PAPER.positions.draw)
    ways = dict.fromkeys([usual, *sorted(runs.select(setting).unique().iter_rows())])
    columns = [Column("\n".join(way), f"{way[0]}, {way[1].replace('_', ' ')}") for way in ways]
    rows = _rows(set(runs.select("task", "encoding").iter_rows()))
    notes.append(
        "The paper's text: positions for relative, distances for ALiBi, and a draw per batch; the "
        "released code differs."
    )
    title = f"Readings of a random offset. {SCORE}; maximum over seeds and learning rates"
    return Table("readings", title, "%", columns, rows, _cells(runs, setting), notes)


def _rows(present: set[tuple[str, str]]) -> list[Row]:
    tasks = task_order(task for task, _ in present)
    encodings = encoding_order(encoding for _, encoding in present)
    pairs = [(t, e) for t in tasks for e in encodings if (t, e) in present]
    return [task_row(t, _key(t, e), encoding_label(e)) for t, e in pairs]


def _key(task: str, encoding: str) -> str:
    return f"{task}\n{encoding}"


def _cells(runs: pl.DataFrame, setting: Sequence[str]) -> dict[tuple[str, str], Cell]:
    """Returns the best value of each task, encoding and setting."""
    found: dict[tuple[str, str], Cell] = {}
    for cell in cells(runs).iter_rows(named=True):
        if value := best_value(cell):
            column = "\n".join(str(cell[name]) for name in setting)
            found[_key(cell["task"], cell["encoding"]), column] = Cell(value)
    return found

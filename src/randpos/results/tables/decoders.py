"""Tables of decoders: the paper's tasks answered token by token, and addition."""

import polars as pl

from randpos.paper.looks import encoding_label, encoding_order, task_order
from randpos.results.decoders import DECODERS
from randpos.results.selection import Budget, seeds_note
from randpos.results.tables.cells import beside, mean_value
from randpos.results.tables.encodings import alike_values, shared_runs
from randpos.results.tables.labels import task_row
from randpos.results.tables.table import Column, Table

GENERATED = "Accuracy of generated tokens in %, averaged over the lengths beyond training"


def decoder(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Decoders on all tasks but addition, with a column for each encoding."""
    return _means("decoder", "Decoders", scored, budget)


def addition(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Decoders that add decimal numbers, written in different ways."""
    return _means("addition", "Addition", scored, budget)


def _means(name: str, what: str, scored: pl.DataFrame, budget: Budget | None) -> Table:
    runs, notes = shared_runs(scored, DECODERS[name], budget, ("learning_rate",))
    ours = alike_values(runs, mean_value)
    encodings = encoding_order({encoding for _, encoding in ours})
    columns = [Column(encoding, encoding_label(encoding)) for encoding in encodings]
    rows = [task_row(task) for task in task_order({task for task, _ in ours})]
    title = f"{what}. {GENERATED}; mean ± sd over seeds at the best learning rate"
    notes.append(f"Mean over {seeds_note(runs)}")
    return Table(name, title, "%", columns, rows, beside(ours, {}), notes)

"""Rows and columns of tables: tasks by level, encodings as the paper prints them."""

from collections.abc import Iterable

from randpos.facts import PAPER_COMBINATIONS, tasks
from randpos.paper import PLAIN, RANDOMIZED
from randpos.paper.looks import encoding_label, encoding_order, task_label, task_order
from randpos.results.tables.table import Column, Row

RANDOMIZED_GROUP = "Randomized"
BEYOND = "Beyond the paper"


def task_row(task: str, key: str | None = None, extra: str = "") -> Row:
    """Returns the row of a task; `extra` is added to its label."""
    label = f"{task_label(task)} · {extra}" if extra else task_label(task)
    if task not in tasks():
        return Row(key or task, label, "own")
    known = tasks()[task]
    return Row(key or task, label, known.level, known.permutation_invariant, 100 * known.chance)


def task_rows(present: Iterable[str]) -> list[Row]:
    """Returns the rows of the paper's 15 tasks and of all other tasks that are present."""
    paper = (name for name, facts in tasks().items() if facts.in_paper)
    return [task_row(task) for task in task_order([*paper, *present])]


def encoding_columns(present: Iterable[str]) -> list[Column]:
    """Returns the 11 columns of Table 1, and one for each encoding that the paper does not have."""
    columns = [Column(name, encoding_label(name)) for name in PLAIN]
    for name in RANDOMIZED:
        label = encoding_label(name).removeprefix("Randomized ")
        columns.append(Column(name, label, RANDOMIZED_GROUP))
    extra = [name for name in encoding_order(present) if name not in PAPER_COMBINATIONS]
    return columns + [Column(name, encoding_label(name), BEYOND) for name in extra]

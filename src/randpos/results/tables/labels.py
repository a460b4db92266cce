"""What rows and columns are called: tasks by level, encodings as the paper prints them."""

from collections.abc import Iterable

from randpos.catalog import PAPER_ROWS, combinations
from randpos.paper import PLAIN, RANDOMIZED
from randpos.paper.looks import task_label
from randpos.results.tables.table import Column, Row
from randpos.tasks import TASKS

OURS = "Randomized (Ours)"
BEYOND = "Beyond the paper"


def encoding_label(encoding: str) -> str:
    """Returns an encoding's name as the paper prints it, if it does.

    >>> encoding_label("geometric"), encoding_label("randomized-learned")
    ('Geometric', 'Randomized Learned★')
    """
    return PAPER_ROWS.get(encoding, encoding).partition(" (table")[0]


def task_row(task: str, key: str | None = None, extra: str = "") -> Row:
    """Returns the row of a task; `extra` is added to its label."""
    known = TASKS.get(task)
    label = f"{task_label(task)} · {extra}" if extra else task_label(task)
    if known is None:
        return Row(key or task, label, "own")
    dagger = known.permutation_invariant
    return Row(key or task, label, known.level, dagger, 100 * known.chance)


def encoding_order(encodings: Iterable[str]) -> list[str]:
    """Sorts names of encodings: known ones as in `combinations`, then all others."""
    order = list(combinations())
    every = set(encodings)
    return [e for e in order if e in every] + sorted(every.difference(order))


def encoding_columns(present: Iterable[str]) -> list[Column]:
    """Returns the 11 columns of Table 1, and one for each encoding that the paper does not have."""
    columns = [Column(name, encoding_label(name)) for name in PLAIN]
    for name in RANDOMIZED:
        columns.append(Column(name, encoding_label(name).removeprefix("Randomized "), OURS))
    extra = [name for name in encoding_order(present) if name not in PAPER_ROWS]
    return columns + [Column(name, name, BEYOND) for name in extra]

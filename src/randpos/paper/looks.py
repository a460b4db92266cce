"""What tasks and encodings look like wherever they are shown: names, order and colours."""

from collections.abc import Iterable

from randpos.tasks import TASKS

COLOURS = {
    "none": "#7f7f7f",
    "sincos": "#e69f00",
    "relative": "#0a7fc4",
    "alibi": "#009e73",
    "rope": "#d55e00",
    "learned": "#cc79a7",
    "geometric": "#56b4e9",
    "t5": "#8c6bb1",
    "kerple": "#5e7d3a",
    "fire": "#a6611a",
}
"""One per encoding; the paper's have those of Okabe and Ito, which everybody can tell apart."""


def task_label(task: str) -> str:
    """Returns a task's name as the paper prints it; one's own tasks keep theirs.

    >>> task_label("modular_arithmetic_simple")
    'Modular Arithmetic (Simple)'
    """
    if task not in TASKS:
        return task
    return task.replace("_", " ").title().replace("Arithmetic Simple", "Arithmetic (Simple)")


def task_order(tasks: Iterable[str]) -> list[str]:
    """Sorts names of tasks: the paper's in its order, then all others."""
    order = list(TASKS)
    every = set(tasks)
    return [task for task in order if task in every] + sorted(every.difference(order))

"""How tasks and encodings are shown everywhere: labels, order, colours, markers and lines."""

from collections.abc import Iterable
from typing import NamedTuple

from randpos.catalog import PAPER_ROWS, combinations
from randpos.tasks import TASKS


class Style(NamedTuple):
    """How an encoding is drawn, whatever its positions."""

    label: str
    color: str
    marker: str


STYLES = {
    "none": Style("None", "#7f7f7f", "."),
    "sincos": Style("sin/cos", "#e69f00", "o"),
    "relative": Style("Relative", "#0a7fc4", "s"),
    "alibi": Style("ALiBi", "#009e73", "^"),
    "rope": Style("RoPE", "#d55e00", "D"),
    "learned": Style("Learned", "#cc79a7", "v"),
    "geometric": Style("Geometric", "#56b4e9", "P"),
    "t5": Style("T5", "#8c6bb1", "X"),
    "kerple": Style("KERPLE", "#5e7d3a", "p"),
    "fire": Style("FIRE", "#a6611a", "h"),
}
"""The paper's encodings have the colours of Okabe and Ito, safe for all colour vision."""
LINES = {"": "--", "randomized": "-", "unsorted": ":"}
"""Plain encodings are dashed, randomized ones solid, unsorted ones dotted."""
LABELS = {"": "{}", "randomized": "Randomized {}", "unsorted": "Randomized {} w/o sorting"}


class Look(NamedTuple):
    """How a combination of an encoding and a position scheme is drawn."""

    label: str
    color: str
    marker: str
    line: str
    filled: bool
    """Randomized encodings have filled markers, plain ones hollow ones."""


def style_of(encoding: str) -> Style:
    """Returns the style of an encoding by its name, without a prefix."""
    return STYLES.get(encoding, Style(encoding, "#000000", "*"))


def split(name: str) -> tuple[str, str]:
    """Splits a combination into the prefix of its position scheme and the encoding.

    >>> split("randomized-rope"), split("rope")
    (('randomized', 'rope'), ('', 'rope'))
    """
    prefix, dash, encoding = name.partition("-")
    return (prefix, encoding) if dash and prefix in LINES else ("", name)


def look(name: str) -> Look:
    """Returns how the combination called `name` is drawn.

    >>> look("randomized-rope")
    Look(label='Randomized RoPE', color='#d55e00', marker='D', line='-', filled=True)
    """
    prefix, encoding = split(name)
    style = style_of(encoding)
    marker = "x" if prefix == "unsorted" else style.marker
    label = LABELS[prefix].format(style.label)
    return Look(label, style.color, marker, LINES[prefix], prefix == "randomized")


def encoding_label(name: str) -> str:
    """Returns a combination's name as the paper's tables print it, or else as figures do.

    >>> encoding_label("geometric"), encoding_label("randomized-learned")
    ('Geometric', 'Randomized Learned★')
    """
    return PAPER_ROWS[name].partition(" (table")[0] if name in PAPER_ROWS else look(name).label


def encoding_order(names: Iterable[str]) -> list[str]:
    """Sorts combinations: known ones as in `combinations`, then all others."""
    order, every = list(combinations()), set(names)
    return [name for name in order if name in every] + sorted(every.difference(order))


def stacks(names: Iterable[str]) -> list[list[str]]:
    """Groups combinations by encoding, in the paper's order, for legends.

    >>> stacks(["rope", "none", "randomized-rope"])
    [['none'], ['rope', 'randomized-rope']]
    """
    groups: dict[str, list[str]] = {name: [] for name in STYLES}
    for name in encoding_order(names):
        groups.setdefault(split(name)[1], []).append(name)
    return [group for group in groups.values() if group]


def task_label(task: str) -> str:
    """Returns a task's name as the paper prints it; a task of one's own keeps its name.

    >>> task_label("modular_arithmetic_simple")
    'Modular Arithmetic (Simple)'
    """
    if task not in TASKS:
        return task
    return task.replace("_", " ").title().replace("Arithmetic Simple", "Arithmetic (Simple)")


def task_title(name: str) -> str:
    """Returns a task's label and level, with a dagger where order does not matter.

    >>> task_title("bucket_sort")
    'Bucket Sort† (CS)'
    """
    if name not in TASKS:  # code that a store names is not loaded
        return name
    dagger = "†" if TASKS[name].permutation_invariant else ""
    return f"{task_label(name)}{dagger} ({TASKS[name].level})"


def task_order(tasks: Iterable[str]) -> list[str]:
    """Sorts names of tasks: the paper's in its order, then all others."""
    order, every = list(TASKS), set(tasks)
    return [task for task in order if task in every] + sorted(every.difference(order))

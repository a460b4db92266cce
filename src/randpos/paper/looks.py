"""How tasks and encodings are shown everywhere: labels, order, colours, markers and lines."""

import zlib
from collections.abc import Iterable
from typing import NamedTuple

from randpos.experiment import split_name
from randpos.facts import (
    OWN_MODEL,
    PAPER_COMBINATIONS,
    EncodingFacts,
    combinations,
    encodings,
    tasks,
)

OWN_COLORS = ("#000000", "#b2182b", "#2166ac", "#1b7837", "#762a83")
OWN_MARKERS = ("*", "<", ">", "8", "H")
"""Looks of models that were trained elsewhere, chosen by a hash of the name."""
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


def look(name: str) -> Look:
    """Returns how the combination called `name` is drawn.

    >>> look("randomized-rope")
    Look(label='Randomized RoPE', color='#d55e00', marker='D', line='-', filled=True)
    """
    if name.startswith(OWN_MODEL):
        label = name.removeprefix(OWN_MODEL)
        mark, color = divmod(zlib.crc32(label.encode()) % 25, 5)
        return Look(label, OWN_COLORS[color], OWN_MARKERS[mark], LINES[""], False)
    prefix, encoding = split_name(name)
    # A user's own encoding has the default look: code that a store names is not loaded.
    style = encodings().get(encoding, EncodingFacts())
    marker = "x" if prefix == "unsorted" else style.marker
    label = LABELS[prefix].format(style.label or encoding)
    return Look(label, style.color, marker, LINES[prefix], prefix == "randomized")


def encoding_label(name: str) -> str:
    """Returns a combination's name as the paper's tables print it, or else as figures do.

    >>> encoding_label("geometric"), encoding_label("randomized-learned")
    ('Geometric', 'Randomized Learned★')
    """
    return (
        PAPER_COMBINATIONS[name].partition(" (table")[0]
        if name in PAPER_COMBINATIONS
        else look(name).label
    )


def encoding_order(names: Iterable[str]) -> list[str]:
    """Sorts combinations: known ones as in `combinations`, then all others."""
    order, every = list(combinations()), set(names)
    return [name for name in order if name in every] + sorted(every.difference(order))


def stacks(names: Iterable[str]) -> list[list[str]]:
    """Groups combinations by encoding, in the paper's order, for legends.

    >>> stacks(["rope", "none", "randomized-rope"])
    [['none'], ['rope', 'randomized-rope']]
    """
    groups: dict[str, list[str]] = {name: [] for name in encodings()}
    for name in encoding_order(names):
        groups.setdefault(split_name(name)[1], []).append(name)
    return [group for group in groups.values() if group]


def task_label(task: str) -> str:
    """Returns a task's name as the paper prints it; a user's own task keeps its name.

    >>> task_label("modular_arithmetic_simple")
    'Modular Arithmetic (Simple)'
    """
    if task not in tasks():
        return task
    return task.replace("_", " ").title().replace("Arithmetic Simple", "Arithmetic (Simple)")


def task_title(name: str) -> str:
    """Returns a task's label and level, with a dagger where order does not matter.

    >>> task_title("bucket_sort")
    'Bucket Sort† (CS)'
    """
    if name not in tasks():  # code that a store names is not loaded
        return name
    facts = tasks()[name]
    dagger = "†" if facts.permutation_invariant else ""
    return f"{task_label(name)}{dagger} ({facts.level})"


def task_order(names: Iterable[str]) -> list[str]:
    """Sorts names of tasks: the paper's in its order, then all others."""
    order, every = list(tasks()), set(names)
    return [task for task in order if task in every] + sorted(every.difference(order))

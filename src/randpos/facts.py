"""Facts of tasks and encodings by name, for listings and results, which need no JAX.

`facts.json` repeats what the classes say, so that JAX is not loaded. It is valid for the registries
that it was written from; with others the classes are read. A test compares the two, and
`python -m randpos.cli.listing` writes the file anew.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from randpos.experiment import Prefix, split_name
from randpos.settings import Reading

PAPER_COMBINATIONS = {
    "none": "None",
    "sincos": "sin/cos",
    "relative": "Relative",
    "alibi": "ALiBi",
    "rope": "RoPE",
    "learned": "Learned",
    "randomized-sincos": "Randomized sin/cos",
    "randomized-relative": "Randomized Relative",
    "randomized-alibi": "Randomized ALiBi",
    "randomized-rope": "Randomized RoPE",
    "randomized-learned": "Randomized Learned★",
    "geometric": "Geometric (table 5)",
    "unsorted-sincos": "Randomized sin/cos w/o sorting (table 3)",
}
"""The 13 combinations that the paper evaluates, in its order, and what it calls them."""
OWN_MODEL = "external:"
"""Begins the name of a model that was trained elsewhere; a store holds its results only."""
PREFIXES: tuple[Prefix, ...] = ("", "randomized", "unsorted")
FILE = Path(__file__).with_name("facts.json")
REGISTRIES = ("encodings/__init__.py", "tasks/__init__.py")


@dataclass(frozen=True)
class TaskFacts:
    """What listings and results need of a task; see `randpos.tasks.base.Task`."""

    name: str
    level: str
    tokens: int
    classes: int
    output_length: str
    """A formula in n."""
    chance: float
    permutation_invariant: bool
    description: str
    in_paper: bool


@dataclass(frozen=True)
class EncodingFacts:
    """What listings and results need of an encoding; see `randpos.encodings.base.Encoding`."""

    name: str = ""
    label: str = ""
    color: str = "#000000"
    marker: str = "*"
    default_reading: Reading = "positions"
    """What a randomized offset is unless chosen otherwise."""


@cache
def stored() -> dict[str, Any] | None:
    """Returns the content of `facts.json`, or None if it was written from other registries."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    return content if content["registries"] == registries_digest() else None


def registries_digest() -> str:
    """Returns a hash of the files that name the tasks and encodings."""
    content = b"".join((FILE.parent / name).read_bytes() for name in REGISTRIES)
    return hashlib.sha256(content).hexdigest()[:16]


@cache
def tasks() -> dict[str, TaskFacts]:
    """Returns the facts of every task, the paper's first.

    >>> tasks()["bucket_sort"].chance
    0.2
    """
    content = stored()
    return {row["name"]: TaskFacts(**row) for row in (content["tasks"] if content else task_rows())}


@cache
def encodings() -> dict[str, EncodingFacts]:
    """Returns the facts of every encoding, without the scheme of its positions."""
    content = stored()
    rows = content["encodings"] if content else encoding_rows()
    return {row["name"]: EncodingFacts(**row) for row in rows}


@cache
def combinations() -> dict[str, tuple[Prefix, str]]:
    """Returns the scheme and the encoding of every combination, in the order of listings."""
    return {name: split_name(name) for name in ordered_names(list(encodings()))}


def ordered_names(known: Sequence[str]) -> list[str]:
    """Names the combinations of encodings and schemes: the paper's 13 first, then all others."""
    every = [
        f"{prefix}-{name}" if prefix else name
        for prefix in PREFIXES
        for name in known
        if not (prefix and name == "none")
    ]
    return [*PAPER_COMBINATIONS, *(name for name in every if name not in PAPER_COMBINATIONS)]


def default_reading(name: str) -> Reading:
    """Returns what a randomized offset of a combination is unless chosen otherwise."""
    prefix, encoding = combinations()[name]
    return encodings()[encoding].default_reading if prefix else "positions"


def task_rows() -> list[dict[str, Any]]:
    """Returns the facts of the tasks from their classes."""
    from randpos.tasks import PAPER_TASKS
    from randpos.tasks.render import table

    return [row | {"in_paper": row["name"] in PAPER_TASKS} for row in table()]


def encoding_rows() -> list[dict[str, Any]]:
    """Returns the facts of the encodings from their classes."""
    from randpos.encodings import ENCODINGS

    return [
        {
            "name": kind.name,
            "label": kind.label,
            "color": kind.color,
            "marker": kind.marker,
            "default_reading": kind.readings[0],
        }
        for kind in ENCODINGS.values()
    ]

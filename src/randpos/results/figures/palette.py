"""One look per encoding, the same in every figure.

The hue and the marker tell the encoding, the line tells the positions: dashed for ordinal ones,
solid for randomized ones, dotted for the ablation without sorting. The hues of the paper's rows are
Okabe and Ito's, which people with any colour vision can tell apart; markers serve grey prints.
"""

from typing import NamedTuple

from randpos.catalog import combinations, get_combination
from randpos.encodings import ENCODINGS
from randpos.paper.looks import COLOURS, task_label
from randpos.tasks import TASKS

SIGNS = {
    "none": ("None", "."),
    "sincos": ("sin/cos", "o"),
    "relative": ("Relative", "s"),
    "alibi": ("ALiBi", "^"),
    "rope": ("RoPE", "D"),
    "learned": ("Learned", "v"),
    "geometric": ("Geometric", "P"),
    "t5": ("T5", "X"),
    "kerple": ("KERPLE", "p"),
    "fire": ("FIRE", "h"),
}
"""For each encoding its label and marker."""

LINES = {"": "--", "randomized": "-", "unsorted": ":"}
LABELS = {"": "{}", "randomized": "Randomized {}", "unsorted": "Randomized {} w/o sorting"}
"""How the paper's tables call them, without the signs of footnotes."""

SHORT, LONG = "#0072b2", "#e69f00"
"""The training length and the one beyond it: blue and orange, as in the paper."""
GUIDE, NOTE = "#c0392b", "#555555"
"""The end of the training range (red, as in the paper), and remarks."""


class Look(NamedTuple):
    """How an encoding is drawn."""

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
    combination = get_combination(name)
    encoding = combination.encoding.name
    label, marker = SIGNS.get(encoding, (encoding, "*"))
    color = COLOURS.get(encoding, "#000000")
    prefix = combination.prefix
    marker = "x" if prefix == "unsorted" else marker
    label = LABELS[prefix].format(label)
    return Look(label, color, marker, LINES[prefix], prefix == "randomized")


def stacks(names: set[str]) -> list[list[str]]:
    """Groups combinations by encoding, in the order of the paper: what stands together in legends.

    >>> stacks({"rope", "none", "randomized-rope"})
    [['none'], ['rope', 'randomized-rope']]
    """
    order = [name for name in combinations() if name in names]
    paper = [name for name in SIGNS if name in ENCODINGS]
    encodings = [*paper, *(name for name in ENCODINGS if name not in SIGNS)]
    found = [[n for n in order if get_combination(n).encoding.name == e] for e in encodings]
    return [stack for stack in found if stack]


def task_title(name: str) -> str:
    """Returns a task's name and level, with a dagger where order does not matter.

    Tasks of one's own keep their name: a figure must not load code that a store names.

    >>> task_title("bucket_sort")
    'Bucket Sort† (CS)'
    """
    if name not in TASKS:
        return name
    dagger = "†" if TASKS[name].permutation_invariant else ""
    return f"{task_label(name)}{dagger} ({TASKS[name].level})"

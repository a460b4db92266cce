"""The legend of the curves over length: each encoding above its randomized version."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Literal

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from randpos import facts
from randpos.paper.looks import stacks
from randpos.results.figures.style import GUIDE, NOTE, sample_chance, sample_line

WIDEST = 5
"""Columns of the legend: as many as fit the width."""


DAGGER: Any = {"label": "† Solvable without positions"}
Entry = Line2D | Patch


def legend_rows(
    encodings: set[str], single: bool, *, sparse: bool, bands: bool, tasks: Collection[str]
) -> Sequence[Sequence[Entry]]:
    """Returns the legend row by row: plain encodings with their randomized versions under them.

    Next to a single panel there is room for one column only.

    Args:
        encodings: What is drawn.
        single: Whether there is one panel.
        sparse: Whether some lines are interpolated between measured lengths.
        bands: Whether some lines have a band.
        tasks: The panels.
    """
    sample = partial(sample_line, sparse=sparse)
    guides: list[Entry] = [
        Line2D([], [], color=GUIDE, linestyle="--", linewidth=0.9, label="Longest training length")
    ]
    known = [facts.tasks()[task] for task in tasks if task in facts.tasks()]
    if known:
        guides.append(sample_chance())
    if bands:
        guides.append(Patch(color=NOTE, alpha=0.2, linewidth=0, label="± 1 sd over seeds"))
    if any(task.permutation_invariant for task in known):
        guides.append(Line2D([], [], linestyle="", color="black", **DAGGER))
    found = stacks(encodings)
    if single:
        lines: list[list[Entry]] = [[sample(name)] for stack in found for name in stack]
        return lines + [[guide] for guide in guides]
    pairs = [stack[:2] for stack in found if len(stack) > 1]
    rest: list[Entry] = [sample(name) for s in found for name in (s if len(s) == 1 else s[2:])]
    rest += guides
    rows: list[Sequence[Entry]] = []
    for start in range(0, len(pairs), WIDEST):
        some = pairs[start : start + WIDEST]
        rows += [[sample(pair[i]) for pair in some] for i in (0, 1)]
    return rows + [rest[start : start + WIDEST] for start in range(0, len(rest), WIDEST)]


def draw_legend(
    figure: Figure,
    rows: Sequence[Sequence[Entry]],
    place: Literal["outside right upper", "outside upper center"],
) -> None:
    """Draws rows of entries outside of the panels; the layout makes room for them."""
    width = max(map(len, rows))
    blank = Line2D([], [], linestyle="", label=" ")
    filled = [[*row, *[blank] * (width - len(row))] for row in rows]
    figure.legend(
        # A legend is filled column by column.
        handles=[row[column] for column in range(width) for row in filled],
        loc=place,
        ncols=width,
        fontsize=7 if width < WIDEST else 6.5,
        columnspacing=1.0 if width < WIDEST else 0.7,
        handlelength=2.3 if width < WIDEST else 2.0,
        handletextpad=0.5,
    )

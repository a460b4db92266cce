"""The legend of the curves over length: each encoding above its randomized version."""

from typing import Literal

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from randpos.paper.looks import stacks
from randpos.results.figures.style import GUIDE, sample_chance, sample_line

WIDEST = 5
"""Columns of the legend: as many as fit the width."""


def legend_rows(encodings: set[str], single: bool) -> list[list[Line2D]]:
    """Returns the legend row by row: plain encodings with their randomized versions under them.

    Next to a single panel there is room for one column only.
    """
    guides = [
        Line2D([], [], color=GUIDE, linestyle="--", linewidth=0.9, label="Longest training length"),
        sample_chance(),
    ]
    found = stacks(encodings)
    if single:
        return [[sample_line(name)] for stack in found for name in stack] + [[g] for g in guides]
    pairs = [stack[:2] for stack in found if len(stack) > 1]
    rest = [sample_line(name) for s in found for name in (s if len(s) == 1 else s[2:])] + guides
    rows: list[list[Line2D]] = []
    for start in range(0, len(pairs), WIDEST):
        some = pairs[start : start + WIDEST]
        rows += [[sample_line(pair[i]) for pair in some] for i in (0, 1)]
    return rows + [rest[start : start + WIDEST] for start in range(0, len(rest), WIDEST)]


def draw_legend(
    figure: Figure,
    rows: list[list[Line2D]],
    place: Literal["outside right upper", "outside upper center"],
) -> None:
    """Draws rows of entries outside of the panels; the layout makes room for them."""
    width = max(map(len, rows))
    blank = Line2D([], [], linestyle="", label=" ")
    filled = [row + [blank] * (width - len(row)) for row in rows]
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

"""The method in one sketch: positions in training and in longer test sequences (figure 1)."""

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from randpos.positions import sample_positions
from randpos.results.figures.style import GUIDE, LONG, NOTE, SHORT, WIDTH, styled

N, M, L = 6, 12, 24
"""Small enough to draw every position."""
SEEN = "#e8f1f8"


@styled
def overview() -> Figure:
    """Draws ordinal positions beyond the trained range, and ordered random subsets."""
    figure = Figure(figsize=(WIDTH, 3.5), layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=[2, 3])
    ordinal = [("Training", np.arange(1, N + 1)), ("Test", np.arange(1, M + 1))]
    _sketch(top, "Standard: positions in order 1, 2, 3, …", ordinal, trained=N)
    draws = [
        (name, np.asarray(sample_positions(jax.random.key(seed), size, maximum=L)))
        for name, size, seed in (("Training", N, 7), ("Training, next step", N, 8), ("Test", M, 9))
    ]
    _sketch(bottom, "Randomized: an ordered random subset of 1, …, L", draws, trained=L)
    return figure


def _sketch(axes: Axes, title: str, rows: list[tuple[str, np.ndarray]], trained: int) -> None:
    """Draws sequences as tokens over the line of all positions."""
    height = len(rows)
    axes.set_title(title, loc="left", fontweight="bold")
    axes.add_patch(Rectangle((0.5, -0.1), trained, height + 0.2, color=SEEN, zorder=0))
    _words(axes, (1 + trained) / 2, "positions seen in training", SHORT)
    if trained < M:
        _words(axes, (trained + 1 + M) / 2, "never seen in training", GUIDE)
        axes.plot([trained + 0.5] * 2, [-0.1, height + 0.1], color=GUIDE, linestyle="--", lw=0.9)
    for place, label in {1: "1", trained: "N", L: "L"}.items():
        axes.text(place, -0.32, label, ha="center", va="center", fontsize=7, color=NOTE)
    for number, (name, positions) in enumerate(rows):
        y = height - number - 0.5
        axes.text(0.2, y, name, ha="right", va="center")
        axes.plot([1, L], [y, y], color="#bbbbbb", linewidth=0.7, zorder=1)
        for token, place in enumerate(positions.tolist(), start=1):
            _token(axes, place, y, token, name == "Test", place > trained)
    axes.set_xlim(-4.2, L + 0.8)
    axes.set_ylim(-0.9, height + 0.15)
    axes.set_axis_off()


def _words(axes: Axes, x: float, text: str, color: str) -> None:
    axes.text(x, -0.66, text, ha="center", va="center", fontsize=7, color=color)


def _token(axes: Axes, place: int, y: float, token: int, test: bool, strange: bool) -> None:
    """Draws token j at its position."""
    color = GUIDE if strange else LONG if test else SHORT
    box = FancyBboxPatch(
        (place - 0.36, y - 0.28), 0.72, 0.56, boxstyle="round,pad=0,rounding_size=0.12"
    )
    box.set(facecolor=color, edgecolor="none", zorder=2, gid="strange" if strange else "token")
    axes.add_patch(box)
    ink = "black" if color == LONG else "white"
    axes.text(place, y, str(token), ha="center", va="center_baseline", color=ink, fontsize=7)

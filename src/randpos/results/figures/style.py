"""The common style of all figures: fonts, lines, captions, and reproducible files."""

import contextlib
import functools
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from randpos import facts
from randpos.paper.looks import look
from randpos.store.files import write_atomic

SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib, so it is the same everywhere
    "mathtext.fontset": "dejavusans",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.6,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # letters stay letters, as publishers ask
    "svg.hashsalt": "randpos",
}

FORMATS: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
"""File types, and the metadata to leave out: it changes from day to day."""
CAPTION_KEYS = {"png": "Description", "svg": "Description", "pdf": "Subject"}
"""The metadata that holds the caption."""

WIDTH = 7.0
"""Inches: a little more than the text width of the paper."""

SHORT, LONG = "#0072b2", "#e69f00"
"""The training length and the one beyond it: blue and orange, as in the paper."""
GUIDE, NOTE = "#c0392b", "#555555"
"""The end of the training range (red, as in the paper), and remarks."""

LEVELS = {
    "R": "regular",
    "DCF": "deterministic context-free",
    "CS": "context-sensitive",
}
BETWEEN: Any = {"linestyle": (0, (4, 2)), "linewidth": 0.8}
"""Lines between measured points, where values are interpolated."""
EVERY_RUN: Any = {
    "gid": "runs",
    "linestyle": "",
    "marker": "o",
    "markersize": 2.6,
    "markeredgewidth": 0,
    "alpha": 0.35,
}
"""Dots of single runs, beside a line of their mean or best."""
CHANCE: Any = {"color": "black", "linestyle": ":", "linewidth": 0.8}

Arguments = ParamSpec("Arguments")


@contextlib.contextmanager
def _styled() -> Iterator[None]:
    with matplotlib.style.context("default"), matplotlib.rc_context(SETTINGS):
        yield


def styled(draw: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Makes a function draw in the common style, whatever the user has set elsewhere."""

    @functools.wraps(draw)
    def drawn(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Figure:
        with _styled():
            return draw(*args, **kwargs)

    return drawn


def save(figure: Figure, stem: Path) -> list[Path]:
    """Writes a figure as PNG, SVG and PDF, and its caption as text beside them.

    Each file is written atomically and has the same bytes every time.

    Args:
        figure: The figure.
        stem: The path without an ending: `figures/curves` gives `figures/curves.png` and so on.

    Returns:
        The files.
    """
    paths, words = [], caption_of(figure)
    for kind, metadata in FORMATS.items():
        buffer, path = io.BytesIO(), stem.parent / f"{stem.name}.{kind}"
        about = {CAPTION_KEYS[kind]: words} if words else {}
        with _styled():
            figure.savefig(buffer, format=kind, metadata=metadata | about, dpi=200)
        write_atomic(path, buffer.getvalue())
        paths.append(path)
    if words:
        paths.append(stem.parent / f"{stem.name}.txt")
        write_atomic(paths[-1], f"{words}\n".encode())
    return paths


def caption(figure: Figure, *sentences: str) -> None:
    """Gives a figure its caption: text beside the picture, and not part of it."""
    figure.set_label(" ".join(" ".join(sentences).split()))


def caption_of(figure: Figure) -> str:
    """Returns the caption of a figure, in one line; empty if it has none."""
    return str(figure.get_label())


def line_style(name: str) -> dict[str, Any]:
    """Returns the keywords with which a line of this encoding is drawn."""
    label, color, marker, line, filled = look(name)
    return {
        "label": label,
        "color": color,
        "linestyle": line,
        "marker": marker,
        "markerfacecolor": color if filled else "white",
        "markeredgewidth": 0.9,
    }


def sample_line(name: str, sparse: bool = False) -> Line2D:
    """Returns the legend entry of an encoding; sparse lines are interpolated between markers."""
    return Line2D([], [], **(line_style(name) | (BETWEEN if sparse else {})))


def hide_unused(panels: list[Axes], used: int) -> None:
    """Removes the unused panels of a grid."""
    for axes in panels[used:]:
        axes.remove()


def chance_line(axes: Axes, task: str) -> None:
    """Marks the accuracy of guessing, where it is known."""
    if task in facts.tasks():
        level = facts.tasks()[task].chance
        axes.axhline(level, **CHANCE, gid="chance")


def sample_chance() -> Line2D:
    """Returns the legend entry of the accuracy of guessing."""
    return Line2D([], [], **CHANCE, label="Chance")


def tasks_note(tasks: Iterable[str]) -> list[str]:
    """Explains the signs in the titles of tasks."""
    known = [facts.tasks()[task] for task in tasks if task in facts.tasks()]
    notes = []
    if any(task.permutation_invariant for task in known):
        notes.append("† permutation-invariant: can be solved without positions.")
    levels = [f"{level} {LEVELS[level]}" for level in LEVELS if level in {t.level for t in known}]
    return [*notes, f"Levels: {', '.join(levels)}."] if levels else notes


def one_seed(seeds: Iterable[int]) -> str:
    """Writes the seeds of the models in a figure that shows one per encoding.

    >>> one_seed([1, 1]), one_seed([0, 2])
    ('One training per encoding: seed 1.', 'One training per encoding: seeds 0, 2.')
    """
    known = sorted(set(seeds))
    names = ", ".join(map(str, known))
    return f"One training per encoding: {'seed' if len(known) == 1 else 'seeds'} {names}."


def percent(value: float, _: object = None) -> str:
    """Writes a share as a percentage, for axes.

    >>> percent(0.5)
    '50'
    """
    return f"{100 * value:.0f}"

"""Activations at the training length and beyond it, in two dimensions (appendix B.3)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from randpos.paper.looks import look, task_title
from randpos.paper.published import claim
from randpos.results.figures.style import LONG, SHORT, WIDTH, caption, one_seed, styled
from randpos.results.inspect.activations import Activations, Layer, compare_activations
from randpos.results.inspect.models import best_trained
from randpos.store.tables import StoreTables

ENCODINGS = ("relative", "randomized-relative")
PUBLISHED = {"relative": "relative", "randomized-relative": "randomized"}
"""The names of the paper's accuracies in its claims."""
EQUAL = 1e-4
"""Activations that differ by less in a plane are one dot."""


def pca_of_store(records: StoreTables, store: Path, task: str = "reverse_string") -> Figure:
    """Draws the activations of a store's best models with relative and randomized relative."""
    models = best_trained(records, store, task, ENCODINGS, "randpos reproduce pca")
    return pca([compare_activations(model) for model in models])


@styled
def pca(found: Sequence[Activations]) -> Figure:
    """Draws one row per model: its embeddings and layers, with both lengths in one plane."""
    layers = len(found[0].layers)
    figure = Figure(figsize=(WIDTH, 1.74 * len(found) + 0.35), layout="constrained")
    rows = figure.subfigures(len(found), 1, squeeze=False).flat
    for part, model in zip(rows, found, strict=True):
        part.suptitle(_heading(model), x=0.01, ha="left", fontsize=8.5)
        panels: list[Axes] = list(part.subplots(1, layers, squeeze=False).flat)
        for axes, layer in zip(panels, model.layers, strict=True):
            _panel(axes, layer)
        panels[0].set_ylabel("PC 2", fontsize=7, labelpad=2)
    first = found[0]
    handles = [
        Line2D([], [], linestyle="", marker="o", markersize=4, color=color, label=label)
        for color, label in (
            (SHORT, f"Length {first.lengths[0]} (fitted)"),
            (LONG, f"Length {first.lengths[1]} (projected)"),
        )
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2, handletextpad=0.2)
    caption(figure, _remarks(found))
    return figure


def _remarks(found: Sequence[Activations]) -> str:
    first = found[0]
    short, long = first.lengths
    remarks = (
        f"Activations of the answering tokens of {first.sequences} sequences of "
        f"{task_title(first.task)}; PCA fitted to length {short}. "
        f"{one_seed(model.trained_seed for model in found)}\n"
        f"Percentages: how many of the activations at length {long} lie, in all dimensions, within "
        f"the range of those at length {short}; in brackets, how many of other sequences of length "
        f"{short}."
    )
    if any(np.ptp(model.layers[0].short, axis=0).max() < EQUAL for model in found):
        remarks += (
            "\nOne dot: all answering tokens enter as the same placeholder, and the encoding adds "
            "nothing to embeddings."
        )
    return remarks


def _heading(model: Activations) -> str:
    measured = ", ".join(
        f"{accuracy:.1%} at {length}"
        for length, accuracy in zip(model.lengths, model.accuracies, strict=True)
    )
    published = ""
    if model.encoding in PUBLISHED and model.task == "reverse_string":
        name = f"pca_{PUBLISHED[model.encoding]}"
        published = f" (paper: {claim(f'{name}_short'):.1%}, {claim(f'{name}_long'):.1%})"
    return f"{look(model.encoding).label}: accuracy {measured}{published}"


def _panel(axes: Axes, layer: Layer) -> None:
    # Dots become pixels also in vector files: tens of thousands of shapes open too slowly.
    for points, color, name in ((layer.short, SHORT, "short"), (layer.long, LONG, "long")):
        order = {"short": 3, "long": 2}[name]  # the longer ones have more points and would cover
        axes.scatter(
            *points.T, s=2.2, color=color, alpha=0.5, linewidths=0, rasterized=True, zorder=order
        ).set_gid(name)
    inside = f"{layer.inside:.0%} inside ({layer.alike:.0%})"
    axes.set_title(f"{layer.name}\n{inside}", fontsize=7, pad=3)
    axes.set_xlabel("PC 1", fontsize=7, labelpad=2)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[["top", "right"]].set_visible(True)
    axes.set_box_aspect(1)
    axes.margins(0.08)

"""Attention matrices, layer by layer, at the training length and beyond it (appendix B.3)."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from randpos.paper.looks import look, task_title
from randpos.results.figures.pca import ENCODINGS
from randpos.results.figures.style import WIDTH, caption, one_seed, styled
from randpos.results.inspect.attention import Attention, Matrix, look_at_attention, on_antidiagonal
from randpos.results.inspect.models import best_trained, usual_lengths
from randpos.store.tables import StoreTables

CELLS = 100
"""Rows and columns of a panel: about as many as the eye can separate."""
TICKS = [0.0, 0.1, 0.25, 0.5, 1.0]
REVERSAL = "reverse_string"


def attention_of_store(records: StoreTables, store: Path, task: str = REVERSAL) -> Figure:
    """Draws the attention of a store's best models with relative and randomized relative."""
    models = best_trained(records, store, task, ENCODINGS, "randpos reproduce attention")
    return attention([look_at_attention(m, n) for m in models for n in usual_lengths(m.experiment)])


@styled
def attention(found: Sequence[Attention]) -> Figure:
    """Draws one row per model and length, one column per layer, all on one scale."""
    layers = len(found[0].layers)
    side = (WIDTH - 0.7) / layers
    figure = Figure(figsize=(WIDTH, (side + 0.42) * len(found) + 0.1), layout="constrained")
    # The square root shows faint patterns too, on the same scale for all panels.
    norm = PowerNorm(0.5, vmin=0.0, vmax=1.0)
    rows = figure.subfigures(len(found), 1, squeeze=False).flat
    for part, maps in zip(rows, found, strict=True):
        part.suptitle(_heading(maps), x=0.01, ha="left", fontsize=8.5)
        panels: list[Axes] = list(part.subplots(1, layers, squeeze=False).flat)
        for number, (axes, matrix) in enumerate(zip(panels, maps.layers, strict=True)):
            _panel(axes, maps, number + 1, matrix, norm)
            axes.set_xlabel("Key" if maps is found[-1] else "", fontsize=7)
        panels[0].set_ylabel("Query", fontsize=7)
        bar = part.colorbar(panels[0].images[0], ax=panels, fraction=0.02, pad=0.01, aspect=30)
        bar.set_ticks(TICKS, labels=[f"{tick:g}" for tick in TICKS])
        bar.ax.tick_params(labelsize=6, width=0.5)
    caption(figure, _remarks(found))
    return figure


def _heading(maps: Attention) -> str:
    beyond = "beyond training" if maps.length > maps.seen else "as in training"
    return (
        f"{look(maps.encoding).label}, length {maps.length} ({beyond}): "
        f"accuracy {maps.accuracy:.1%} on this sequence"
    )


def _panel(axes: Axes, maps: Attention, layer: int, matrix: Matrix, norm: PowerNorm) -> None:
    pooled, factor = shrink(matrix)
    end = factor * len(pooled) - 0.5
    image = axes.imshow(
        pooled, norm=norm, cmap="magma", extent=(-0.5, end, end, -0.5), interpolation="none"
    )
    image.set_gid("attention")
    axes.set(xlim=(-0.5, len(matrix) - 0.5), ylim=(len(matrix) - 0.5, -0.5))
    for line in (axes.axhline, axes.axvline):
        line(maps.first - 0.5, color="white", linewidth=0.5, alpha=0.6)
    title = f"Layer {layer}"
    if maps.task == REVERSAL:
        title += f": {on_antidiagonal(matrix, maps.first):.0%}"
    axes.set_title(title, fontsize=7.5, pad=3)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)


def shrink(matrix: Matrix) -> tuple[Float[np.ndarray, "cell cell"], int]:
    """Pools a matrix for drawing; returns it and the number of tokens per cell.

    A cell is the maximum of its tokens: a mean would wash out lines that are one token wide.
    """
    factor = math.ceil(len(matrix) / CELLS)
    padded = np.pad(matrix, (0, -len(matrix) % factor))
    cells = len(padded) // factor
    return padded.reshape(cells, factor, cells, factor).max(axis=(1, 3)), factor


def _remarks(found: Sequence[Attention]) -> str:
    remarks = (
        f"One sequence of {task_title(found[0].task)} per row; the maximum over the heads. "
        f"{one_seed(maps.trained_seed for maps in found)} White lines: the end of the input."
    )
    if any(len(maps.layers[0]) > CELLS for maps in found):
        remarks += " Long sequences: the maximum over neighbouring tokens."
    if found[0].task == REVERSAL:
        remarks += "\nPercentages: answering tokens that look most at the token they must copy."
    return remarks

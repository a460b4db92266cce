"""Figures of the paper's open questions: L, draws per example, and attention that stays peaked."""

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from randpos.errors import UserError
from randpos.paper.looks import encoding_order, look, task_order, task_title
from randpos.results.figures.style import (
    CHANCE,
    EVERY_RUN,
    GUIDE,
    NOTE,
    WIDTH,
    caption,
    chance_line,
    line_style,
    percent,
    sample_chance,
    styled,
)
from randpos.results.inspect.attention import attention_entropy
from randpos.results.inspect.models import Trained
from randpos.results.questions import draw_runs, maximum_runs, scale_runs
from randpos.results.scores import counted_accuracies, score_runs
from randpos.results.selection import Selection
from randpos.run import Run
from randpos.store.folder import RunFolder
from randpos.store.tables import StoreTables

WAYS: dict[str, dict[str, Any]] = {
    "per_batch": {"linestyle": "--", "alpha": 0.55},
    "per_layer": {"linestyle": ":"},
    "per_example": {"linestyle": "-"},
}
SCALES: dict[str, dict[str, Any]] = {
    "constant": {"marker": "v", "linewidth": 0.8},
    "log": {"marker": "o", "linewidth": 1.5},
}
"""Lines of the two scales of attention."""
IN_DOMAIN: dict[str, Any] = {"linestyle": "-.", "linewidth": 0.8, "alpha": 0.7, "markersize": 2.6}
TRAINED: dict[str, Any] = {"color": GUIDE, "linestyle": "--", "linewidth": 0.9}
SEEDS: dict[str, Any] = {"alpha": 0.12, "linewidth": 0}
"""Accuracies up to N, the longest training length, the band over seeds."""


def _selected(
    records: StoreTables, choose: Callable[[pl.DataFrame], Selection], name: str, what: str
) -> Selection:
    """Returns the runs of a question; raises `UserError` if there are none."""
    chosen = choose(score_runs(records))
    if chosen.runs.is_empty():
        raise UserError(
            f"No trained and tested runs differ in {what} only; run randpos reproduce {name} first."
        )
    return chosen


def _panels(
    runs: pl.DataFrame, rows: int = 1
) -> tuple[Figure, np.ndarray, list[tuple[np.ndarray, pl.DataFrame]]]:
    """Returns a figure, its panels, and each task's column of panels with the task's runs.

    The first row is for accuracies: in percent, with chance marked.
    """
    tasks = task_order(set(runs["task"]))
    wide = min(WIDTH, 1.6 + 2.6 * len(tasks))
    figure = Figure(figsize=(wide, 2.3 * rows + 1.1), layout="constrained")
    panels = figure.subplots(rows, len(tasks), squeeze=False, sharey="row")
    for axes, task in zip(panels[0], tasks, strict=True):
        axes.set_title(task_title(task))
        chance_line(axes, task)
        axes.set_ylim(0, 1.04)
        axes.yaxis.set_major_formatter(percent)
    parts = [runs.filter(pl.col("task") == task) for task in tasks]
    return figure, panels, list(zip(panels.T, parts, strict=True))


def _means(runs: pl.DataFrame, by: str, value: str) -> tuple[np.ndarray, np.ndarray]:
    table = runs.group_by(by).agg(pl.col(value).mean()).sort(by)
    return table[by].to_numpy(), table[value].to_numpy()


@styled
def choose_maximum_of_store(records: StoreTables, store: Path) -> Figure:
    """Draws the score over L / longest tested sequence, by encoding and dropout."""
    runs, notes = _selected(records, maximum_runs, "choose-L", "L")
    figure, panels, columns = _panels(runs)
    handles: dict[str, Any] = {}
    for (axes,), there in columns:
        for encoding in encoding_order(set(there["encoding"])):
            for dropout in sorted(set(there["dropout"])):
                part = there.filter(encoding=encoding, dropout=dropout)
                if part.is_empty():
                    continue
                style = line_style(encoding)
                style["label"] = f"{look(encoding).label}, dropout {dropout:g}"
                if dropout:
                    style |= {"linestyle": ":", "markerfacecolor": "white"}
                (handles[style["label"]],) = axes.plot(
                    *_means(part, "ratio", "score"), **style, gid=f"{encoding} {dropout:g}"
                )
                inside = style | IN_DOMAIN | {"label": f"{style['label']}: up to N"}
                (handles[inside["label"]],) = axes.plot(
                    *_means(part, "ratio", "in_domain"),
                    **inside,
                    gid=f"{encoding} {dropout:g} in-domain",
                )
                dots = part["ratio"].to_numpy(), part["score"].to_numpy()
                axes.plot(*dots, color=style["color"], **EVERY_RUN)
        axes.set_xscale("log", base=2)
        ticks = sorted(set(there["ratio"]))
        axes.set_xticks(ticks, [f"{ratio:g}" for ratio in ticks])
        if any(b < 1.5 * a for a, b in itertools.pairwise(ticks)):  # side by side they overlap
            axes.tick_params(axis="x", labelrotation=60)
        axes.minorticks_off()
        axes.set_xlabel("L / longest tested sequence")
    panels[0, 0].set_ylabel("Accuracy (%)")
    # A legend is filled column by column: scores, then accuracies up to N.
    lines = list(handles.values())
    single_run = Line2D([], [], color="black", label="Score of one run", **EVERY_RUN)
    samples = [*lines[::2], single_run, *lines[1::2], sample_chance()]
    figure.legend(handles=samples, loc="outside upper left", ncols=2, handlelength=2.6, fontsize=6)
    remark = "Score: mean accuracy over lengths N+1 to M. Lines: mean over seeds; dots: every run."
    caption(figure, remark, *notes)
    return figure


@styled
def draws_of_store(records: StoreTables, store: Path) -> Figure:
    """Draws accuracy in training over steps, for one draw per batch and one per example."""
    runs, notes = _selected(records, draw_runs, "draws", "how often positions are drawn")
    figure, panels, columns = _panels(runs)
    handles: dict[str, Any] = {}
    for (axes,), there in columns:
        for encoding in encoding_order(set(there["encoding"])):
            for way in sorted(set(there["draw"])):
                part = there.filter(encoding=encoding, draw=way)
                curves = [np.array(json.loads(text)) for text in part["curve"]]
                if not curves or any(len(curve) != len(curves[0]) for curve in curves):
                    continue
                steps, accuracies = curves[0][:, 0], np.array([c[:, 2] for c in curves])
                label = f"{look(encoding).label}, {way.replace('_', ' ')}"
                style = {"color": look(encoding).color, "label": label, **WAYS[way]}
                (handles[label],) = axes.plot(
                    steps, accuracies.mean(axis=0), **style, gid=f"{encoding} {way}"
                )
                low, high = accuracies.min(axis=0), accuracies.max(axis=0)
                axes.fill_between(steps, low, high, color=style["color"], **SEEDS)
        axes.set_xlabel("Training step")
    panels[0, 0].set_ylabel("Accuracy in training (%)")
    band = Patch(color=NOTE, alpha=0.2, linewidth=0, label="Lowest to highest seed")
    samples = [*handles.values(), band, sample_chance()]
    figure.legend(handles=samples, loc="outside upper left", ncols=2, handlelength=2.6)
    caption(figure, "Lines: mean over seeds; bands: from the lowest to the highest seed.", *notes)
    return figure


def peaked_of_store(records: StoreTables, store: Path) -> Figure:
    """Draws accuracy and entropy of attention over length, with both scales of attention."""
    runs, notes = _selected(records, scale_runs, "peaked", "the scale of attention")
    entropies = {run: entropy_of_run(store, run) for run in runs["run"]}
    return peaked(runs, counted_accuracies(records, runs), entropies, notes)


def entropy_of_run(store: Path, run: str) -> tuple[list[int], np.ndarray]:
    """Returns lengths up to M, and the entropy of a run's attention at each and in each layer."""
    folder = RunFolder(store / run)
    if not folder.parameters.is_file():
        raise UserError(
            f"{store} holds the results of run {run} but not its parameters; run randpos "
            "reproduce peaked to train it here."
        )
    trained = Run((folder,))
    experiment = trained.experiment()
    seen, longest = experiment.lengths.maximum, experiment.test_length
    doubled = [seen * 2**k for k in range(-1, 20) if 1 <= seen * 2**k < longest]
    lengths = [*(int(length) for length in doubled), longest]
    return lengths, attention_entropy(Trained(experiment, trained.model()), lengths)


@styled
def peaked(
    runs: pl.DataFrame,
    accuracies: pl.DataFrame,
    entropies: dict[str, tuple[list[int], np.ndarray]],
    notes: Sequence[str],
) -> Figure:
    """Draws two rows of panels: accuracy over length, and the entropy of attention over length.

    Args:
        runs: Runs with the column `attention_scale`.
        accuracies: Their accuracies.
        entropies: Lengths, and entropies by length and layer, of each run.
        notes: What the runs are, for the caption.
    """
    figure, panels, columns = _panels(runs, rows=2)
    handles: dict[str, Any] = {}
    for (upper, lower), there in columns:
        for encoding in encoding_order(set(there["encoding"])):
            for scale in SCALES:
                part = there.filter(encoding=encoding, attention_scale=scale)
                if part.is_empty():
                    continue
                label = f"{look(encoding).label}, {'log n/√d' if scale == 'log' else '1/√d'}"
                style = line_style(encoding) | SCALES[scale] | {"markersize": 3.2, "label": label}
                points = accuracies.filter(pl.col("run").is_in(part["run"].implode()))
                # A mean over other runs at every length would jump.
                points = points.filter(pl.len().over("length") == len(part))
                (handles[label],) = upper.plot(
                    *_means(points, "length", "accuracy"), **style, gid=f"{encoding} {scale}"
                )
                lengths = entropies[part["run"][0]][0]
                mean = np.mean([entropies[run][1].mean(axis=1) for run in part["run"]], axis=0)
                lower.plot(lengths, mean, **style, gid=f"{encoding} {scale}")
        for axes in (upper, lower):
            axes.axvline(there["training_length"][0], **TRAINED)
            axes.set_xlabel("Sequence length")
        lengths = np.array(entropies[there["run"][0]][0])
        lower.plot(lengths, np.log(lengths), **CHANCE, gid="log n")
        lower.set_xscale("log", base=2)
        lower.set_xticks(lengths, [str(length) for length in lengths])
        lower.minorticks_off()
    panels[0, 0].set_ylabel("Accuracy (%)")
    panels[1, 0].set_ylabel("Entropy of attention (nats)")
    guides = [
        Line2D([], [], **TRAINED, label="Longest training length"),
        Line2D([], [], **CHANCE, label="Chance; below: uniform"),
    ]
    figure.legend(
        handles=[*handles.values(), *guides], loc="outside upper left", ncols=2, handlelength=3
    )
    remark = (
        "Mean over seeds. Entropy: mean over layers, heads, queries and 16 sequences. Dotted: "
        "chance (above), uniform attention, log n (below)."
    )
    caption(figure, remark, *notes)
    return figure

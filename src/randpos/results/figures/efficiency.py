"""Accuracy over training time: short sequences with randomized positions against long ones."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from randpos.paper.looks import look, task_title
from randpos.paper.published import claim
from randpos.results.efficiency import (
    THRESHOLD,
    Contender,
    Efficiency,
    compare_efficiency,
)
from randpos.results.figures.style import CHANCE, caption, line_style, percent, styled
from randpos.store.tables import StoreTables


def efficiency_of_store(records: StoreTables, store: Path) -> Figure:
    """Draws the figure of a store's runs on missing_duplicate."""
    return efficiency(compare_efficiency(records))


@styled
def efficiency(found: Efficiency) -> Figure:
    """Draws accuracy over training time on a logarithmic axis, for both ways to train."""
    figure = Figure(figsize=(5.6, 3.3), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    threshold = f"Accuracy {THRESHOLD:.0%}"
    axes.axhline(THRESHOLD, **CHANCE, gid="threshold", label=threshold)
    shown = np.concatenate(
        [c for side in (found.short, found.long) for c in (side.training, side.test)]
    )
    axes.set_ylim(min(0.4, shown[:, 1].min() - 0.05), 1.03)
    for side in (found.long, found.short):
        _draw(axes, side)
    axes.yaxis.set_major_formatter(percent)
    axes.xaxis.set_major_formatter("{x:,.4g}")
    axes.set_xlabel("Training time (seconds)")
    axes.set_ylabel("Accuracy (%)")
    axes.set_title(task_title(found.task), loc="left")
    # A legend is filled column by column; the threshold stands alone in the last one.
    handles, labels = axes.get_legend_handles_labels()
    last = labels.index(threshold)
    order = [*(i for i in range(len(labels)) if i != last), last]
    figure.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        loc="outside upper center",
        ncols=3,
        handlelength=2.6,
        fontsize=7,
    )
    caption(figure, _remarks(found))
    return figure


def _draw(axes: Axes, side: Contender) -> None:
    style, name = line_style(side.encoding), side.encoding
    label = f"{style.pop('label')}, N = {side.training_length}"
    thin = {"color": style["color"], "linestyle": style["linestyle"], "linewidth": 0.8}
    if len(side.training) == 1:  # no line, but a point
        thin["marker"] = "."
    axes.plot(
        *side.training.T, **thin, alpha=0.7, gid=f"{name} training", label=f"{label}: training"
    )
    style["markersize"] = 5.5
    axes.plot(*side.test.T, **style, gid=f"{name} test", label=f"{label}: test", zorder=3)
    for number, curve in enumerate(side.others):
        other = {**style, "markersize": 3, "linewidth": 0.8, "alpha": 0.6}
        axes.plot(*curve.T, **other, gid=f"{name} other {number}", zorder=2)
    when = side.time
    if when is not None:
        axes.vlines(when, axes.get_ylim()[0], THRESHOLD, color=style["color"], linewidth=0.7)
        text, low = f"{_duration(when)} ", axes.get_xaxis_transform()
        axes.annotate(
            text, (when, 0.03), color=style["color"], ha="right", fontsize=7, xycoords=low
        )


def _remarks(found: Efficiency) -> str:
    short, long = found.short, found.long
    first, last = found.lengths
    ratio = found.time_ratio
    if ratio is None:
        reached = " ".join(_unknown(side) for side in (short, long) if side.time is None)
    else:
        reached = (
            f"Above {THRESHOLD:.0%} of test accuracy {ratio:.3g} times as soon "
            f"(interpolated); paper: {claim('speedup')}. "
            f"{_spread(short)} against {_spread(long)}."
        )
    return (
        f"Test: mean accuracy over lengths {first} to {last}. "
        f"Training: accuracy on the training batches, of lengths up to N.\n"
        f"{reached}\n"
        f"{short.steps_per_second:.3g} against {long.steps_per_second:.3g} steps/s: "
        f"{found.speed_ratio:.3g} times as fast. Paper, on a V100: "
        f"{claim('steps_per_second_short')} against {claim('steps_per_second_long')}.\n"
        f"Budget: {short.steps:,} and {long.steps:,} steps; {_seeds(short, long)}."
        + (f" Positions of the randomized encoding: {short.reading}." if short.reading else "")
    )


def _seeds(short: Contender, long: Contender) -> str:
    if not (short.others or long.others):
        return "one seed each"
    return f"{len(short.times)} and {len(long.times)} seeds, thin where not the best"


def _spread(side: Contender) -> str:
    """Writes when the seeds of a side crossed the threshold."""
    times = sorted(time for time in side.times if time is not None)
    if len(times) == 1:
        return f"{_duration(times[0])} (1 seed)"
    return f"{_duration(times[0])} to {_duration(times[-1])} ({len(times)} seeds)"


def _unknown(side: Contender) -> str:
    """Says why the time of crossing the threshold is not known."""
    name = f"{look(side.encoding).label} with N = {side.training_length}"
    curves = [c for c, time in zip((side.test, *side.others), side.times, strict=True) if not time]
    which = f" in {len(curves)} of {len(side.times)} seeds" if side.others else ""
    if (curves[0][:, 1] > THRESHOLD).any():
        return f"{name} was above {THRESHOLD:.0%} at its first test{which}: test it earlier."
    return f"{name} did not reach {THRESHOLD:.0%} of test accuracy{which}."


def _duration(seconds: float) -> str:
    """Writes a time in the unit that suits it.

    >>> _duration(90), _duration(7200)
    ('1.5 min', '2 h')
    """
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.2g} s"

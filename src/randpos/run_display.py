"""How a run is shown: as text, as HTML in a notebook, and as a figure."""

import html
from typing import TYPE_CHECKING

import polars as pl

from randpos.errors import UserError
from randpos.experiment import Evaluation
from randpos.extras import MissingExtraError
from randpos.setup import resolve
from randpos.store.result import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from randpos.run import Run


def heading(run: "Run") -> str:
    """Returns what the members have in common."""
    first = run.experiment(0)
    return (
        f"Run of {first.task} with {first.encoding}: {first.steps:,} steps of {first.batch}, "
        f"N={first.lengths.maximum}, M={first.test_length}, in {run.folders[0].path.parent}"
    )


def describe_run(run: "Run") -> str:
    """Returns a line per member, with its score and in-domain accuracy in percent."""
    try:
        lines = [
            f"  {name}  seed {seed}, rate {rate:g}: {status}, {_scores(status, *shares)}"
            for name, seed, rate, status, *shares in run.scores().iter_rows()
        ]
        return "\n".join([heading(run), *lines])
    except UserError as error:  # The store may be gone, and showing a run must not fail.
        return f"Run of {len(run.folders)} members that cannot be read: {error}"


def _scores(status: str, beyond: float | None, inside: float | None) -> str:
    if status == "complete" and beyond is None and inside is None:
        return "not tested yet; run.evaluate() tests it"
    return f"score {percent(beyond)} %, in domain {percent(inside)} %"


def describe_run_html(run: "Run") -> str:
    """Returns the same as a table."""
    names = ["run", "seed", "rate", "status", "score %", "in domain %"]
    head = "".join(f"<th>{name}</th>" for name in names)
    body = ""
    try:
        title = html.escape(heading(run))
        members = run.scores().rows()
    except UserError:
        return f"<p>{html.escape(describe_run(run))}</p>"
    for name, seed, rate, status, *shares in members:
        cells = [name, seed, f"{rate:g}", status, *map(percent, shares)]
        body += f"<tr>{''.join(f'<td>{html.escape(str(cell))}</td>' for cell in cells)}</tr>"
    return f"<p>{title}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def plot_run(run: "Run", evaluation: Evaluation | None = None) -> "Figure":
    """Draws accuracy over length, a curve per learning rate; see `Run.plot`."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("Run.plot", "Matplotlib", "report") from error
    first, found = run.experiment(0), run.accuracies(evaluation)
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    for (rate,), rows in found.group_by("learning_rate", maintain_order=True):
        seeds = rows["seed"].n_unique()
        # A mean over other members at every length would jump.
        rows = rows.filter(pl.len().over("length") == seeds)
        accuracy = 100 * pl.col("accuracy")
        curves = rows.group_by("length").agg(
            mean=accuracy.mean(), low=accuracy.min(), high=accuracy.max()
        )
        curves = curves.sort("length")
        label = f"rate {rate:g}" + (f", mean of {seeds} seeds" if seeds > 1 else "")
        (line,) = axes.plot(curves["length"], curves["mean"], marker=".", label=label)
        if seeds > 1:
            axes.fill_between(
                curves["length"], curves["low"], curves["high"], alpha=0.2, color=line.get_color()
            )
    axes.axvspan(1, first.lengths.maximum, color="0.92", zorder=0, label="training lengths")
    chance = resolve(first).task.chance
    if chance is not None:
        axes.axhline(100 * chance, color="0.5", linestyle=":", label="chance")
    axes.set(xlabel="length", ylabel="accuracy %", ylim=(0, 102))
    axes.set_title(f"{first.task}, {first.encoding}")
    axes.legend(fontsize="small")
    return figure

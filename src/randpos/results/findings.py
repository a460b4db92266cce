"""What a store says about the paper's claim, in words and tables: the text of docs/results.md."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from randpos.paper import RANDOMIZED
from randpos.paper.looks import task_label
from randpos.results.budgets import PAPERS, budgets, count
from randpos.results.scores import score_runs
from randpos.results.tables.encodings import from_paper
from randpos.results.tables.formats import render
from randpos.results.tables.labels import encoding_label
from randpos.results.tables.make import BUILDERS
from randpos.results.tables.table import MISSING, Cell, Row, Table
from randpos.store.tables import StoreTables

CLEAR = 5.0
"""Points below which two scores count as alike: about twice the noise of a difference between
scores over nine lengths with a hundred examples each, which is the test of our own runs."""

SECTIONS = {
    "table1": "Scores of all encodings",
    "gains": "The headline: what randomized positions gain",
    "comparison": "Randomized against plain, seed by seed",
    "readings": "What randomized relative may mean",
    "ablation-sorting": "Without sorting",
    "geometric": "Geometric attention",
    "max-position": "The largest position L",
    "running-times-measured": "Hours of training",
}
SIDES = ("readings", "ablation-sorting", "geometric", "max-position")
"""Experiments that compare settings, each on a few tasks."""


def findings(records: StoreTables, store: Path, out: Path = Path("docs/results.md")) -> str:
    """Returns the page as Markdown; every number on it comes from the store or from the paper."""
    scored = score_runs(records)
    tables = {name: BUILDERS[name](scored, None) for name in SECTIONS}
    parts = [
        "# What we found",
        f"*Written by `randpos report {store} --out {out}`; do not edit by hand.*",
        *introduction(scored),
        "## In short",
        *verdicts(tables["comparison"]),
        *ordered(tables["readings"], SECTIONS["readings"]),
        *reading_words(tables["readings"], tables["table1"]),
        *(text for name in SIDES[1:] for text in ordered(tables[name], SECTIONS[name])),
    ]
    for name, title in SECTIONS.items():
        if (table := _measured(tables[name])).rows:
            parts += [f"## {title}", render(table, "markdown").strip()]
    return "\n\n".join(parts) + "\n"


def _measured(table: Table) -> Table:
    """Leaves out tasks that were not run; of a side experiment, those with half of it or less."""
    least = len(table.columns) / 2 if table.name in SIDES else 0

    def filled(row: Row) -> int:
        return sum(table.cell(row, column).ours is not None for column in table.columns)

    return dataclasses.replace(table, rows=[row for row in table.rows if filled(row) > least])


def introduction(scored: pl.DataFrame) -> list[str]:
    """Says what was run, on what, and how it differs from the paper's budget."""
    states = Counter(scored["status"].to_list())
    counts = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    done = scored.filter(pl.col("status") == "complete")
    devices = Counter(_device(text) for text in done["environment"])
    where = ", ".join(f"{name} ({count(n, 'run')})" for name, n in sorted(devices.items()))
    each = done.group_by("steps", "batch").len().sort("len", "steps", descending=True)
    words = "; ".join(
        f"{count(number, 'run')} of {steps:,} steps with {batch} examples"
        for steps, batch, number in each.iter_rows()
    )
    text = (
        f"The store holds {len(scored)} runs ({counts}), {scored['hours'].sum():.1f} hours of "
        f"training on: {where}. Budgets: {words}. The paper trains each model for 2,000,000 steps "
        "with 128 examples, ten seeds and three learning rates, and tests up to length 500. "
    )
    if PAPERS not in budgets(scored):
        text += (
            "**Nothing here is at the paper's budget**: a lower score may come from the short "
            "training, or from one run instead of the best of thirty, and a test up to a smaller "
            "M is easier. What can be compared is the sign and the rough size of differences "
            "between encodings that were trained alike."
        )
    return [text.strip()]


def _device(environment: str) -> str:
    try:
        return str(json.loads(environment)["device"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "unknown"


def verdicts(table: Table) -> list[str]:
    """Says where randomized minus plain, in the table `comparison`, tells the paper's story."""
    rows = []
    for row in table.rows:
        for name in RANDOMIZED:
            cell = table.cells.get((row.key, name.removeprefix("randomized-")), Cell())
            if cell.ours is not None:
                theirs = None if cell.paper is None else cell.paper.value
                rows.append((row.label, encoding_label(name), cell.ours.value, theirs))
    if not rows:
        return ["No randomized encoding has a plain one beside it yet."]
    words = Counter(_verdict(ours, theirs) for *_, ours, theirs in rows)
    counted = ", ".join(f"{verdict}: **{count}**" for verdict, count in words.most_common())
    lines = [
        "| task | encoding | randomized − plain, ours | the paper's | verdict |",
        "|---|---|---:|---:|---|",
        *(
            f"| {task} | {name} | {ours:+.1f} | "
            f"{'–' if theirs is None else format(theirs, '+.1f')} | {_verdict(ours, theirs)} |"
            for task, name, ours, theirs in rows
        ),
    ]
    return [
        f"Of {len(rows)} pairs of a randomized encoding and its plain form on the same task: "
        f"{counted}. Means over seeds are compared with the paper's means over ten. Differences "
        f"under {CLEAR:.0f} points count as none. Those between seeds can be larger than that: "
        f"the paper's standard deviations reach {_spread():.0f} points, and where we have one "
        "seed we cannot tell.",
        "\n".join(lines),
    ]


def _spread() -> float:
    """Returns the largest standard deviation over seeds that the paper prints for an encoding."""
    return max(value.sd or 0.0 for value in from_paper("means", "mean").values())


def _verdict(ours: float, theirs: float | None) -> str:
    """Says whether two differences tell the same story."""
    if theirs is None:
        return "not in the paper"

    def sign(value: float) -> int:
        return 0 if abs(value) < CLEAR else 1 if value > 0 else -1

    if sign(ours) == sign(theirs):
        return "agrees in sign" if sign(ours) else "no clear difference in either"
    if not sign(ours):
        return "no clear difference at our budget"
    return "clear here, not in the paper" if not sign(theirs) else "opposite sign"


def ordered(table: Table, title: str) -> list[str]:
    """Orders what a side experiment compares by its scores, best first."""
    lines = []
    for row in _measured(table).rows:
        ours: dict[str, float] = {}
        for column in table.columns:
            if (value := table.cell(row, column).ours) is not None:
                ours.setdefault(column.label, value.value)  # the maximum stands before the mean
        best = sorted(ours.items(), key=lambda one: -one[1])
        words = ", ".join(f"{label} ({score:.1f})" for label, score in best)
        lines.append(f"- {row.label}: {words}")
    return [f"**{title}**, best score first:", "\n".join(lines)] if lines else []


def reading_words(readings: Table, table1: Table) -> list[str]:
    """Says what the readings and draws of a random offset do, beside the plain encoding."""
    parts = []
    for row in _measured(readings).rows:
        task, encoding = row.key.split("\n")
        ours = {
            tuple(column.key.split("\n")): cell.ours.value
            for column in readings.columns
            if (cell := readings.cell(row, column)).ours is not None
        }
        plain = table1.cells.get((task, encoding.removeprefix("randomized-")), Cell()).ours
        words = f"{task_label(task)}: the readings and draws score {_range(ours.values())}"
        words += f", the plain encoding {plain.value:.1f}." if plain else "."
        gaps = {
            reading: score - ours[reading, "per_batch"]
            for (reading, draw), score in ours.items()
            if draw == "per_layer" and (reading, "per_batch") in ours
        }
        if gaps:
            each = ", ".join(f"{gap:+.1f} ({reading})" for reading, gap in sorted(gaps.items()))
            words += f" Drawing per layer instead of per batch changes the score by {each}."
        if (task, encoding) in (known := from_paper("means", "mean")):
            words += (
                f" The paper's standard deviation over seeds is {known[task, encoding].sd} in this "
                "cell: smaller differences say little."
            )
        parts.append(words)
    return parts


def _range(scores: Iterable[float]) -> str:
    low, high = min(every := list(scores)), max(every)
    return f"{low:.1f}" if low == high else f"{low:.1f} to {high:.1f}"


def beside(table: Table, encodings: Sequence[str]) -> str:
    """Returns our number and the paper's in each cell: a table for a README."""
    columns = [column for column in table.columns if column.key in encodings]
    lines = [
        f"| task | {' | '.join(encoding_label(column.key) for column in columns)} |",
        f"|---|{'---:|' * len(columns)}",
    ]
    for row in _measured(table).rows:
        cells = (table.cell(row, column) for column in columns)
        lines.append(f"| {row.label} | {' | '.join(map(_ours_and_theirs, cells))} |")
    return "\n".join(lines)


def _ours_and_theirs(cell: Cell) -> str:
    ours, theirs = (
        MISSING if side is None else f"{side.value:.1f}" for side in (cell.ours, cell.paper)
    )
    return f"{ours} ({theirs})"

"""What a store says about the paper's claim, in words and tables: the text of docs/results.md."""

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from randpos.paper.artifacts import ARTIFACTS, tables
from randpos.paper.base import Artifact, Runs
from randpos.paper.looks import encoding_label, task_label
from randpos.results.comparison import (
    BEST,
    Comparison,
    Difference,
    compare,
    gaps_by_seed,
    paired,
)
from randpos.results.numerics_versions import numerics_sentence
from randpos.results.scores import score_runs
from randpos.results.selection import PAPER_BUDGET, Budget, budgets, count, count_range, select
from randpos.results.statistics import FEWEST, mean_interval
from randpos.results.tables.cells import from_paper
from randpos.results.tables.formats import render
from randpos.results.tables.sweeps import reading_runs
from randpos.results.tables.table import MISSING, Row, Table, Value
from randpos.store.tables import StoreTables

LEFT_OUT = ("running-times", "intervals")
"""Tables that repeat others on this page. Open questions have a page of their own."""


def findings(records: StoreTables, store: Path, out: Path = Path("docs/results.md")) -> str:
    """Returns the page as Markdown; every number on it comes from the store or from the paper."""
    scored = score_runs(records)
    made = {
        name: _measured(artifact, scored)
        for name, artifact in tables().items()
        if name not in LEFT_OUT and artifact.section != "Open questions"
    }
    parts = [
        "# What we found",
        f"*Written by `randpos report {store} --out {out}`; do not edit by hand.*",
        introduction(scored),
        "## In short",
    ]
    compared = [(budget, comparisons(scored, budget)) for budget in budgets(scored)]
    compared = [(budget, found) for budget, found in compared if found]
    compared.sort(key=lambda pair: -max(len(each.seeds) for each in pair[1]))
    for budget, found in compared:
        parts += [f"**{budget.text}.** {verdict_sentence(found)}", verdict_table(found)]
    if not compared:
        parts.append("No randomized encoding has a plain one beside it yet.")
    for name, table in made.items():
        if ARTIFACTS[name].section == "Ablations":
            parts += ranked(table, ARTIFACTS[name].title)
    parts += draws_per_layer(scored)
    for name, table in made.items():
        if table.rows:
            parts += [f"## {ARTIFACTS[name].title}", render(table, "markdown").strip()]
    return "\n\n".join(parts) + "\n"


def _measured(artifact: Artifact, scored: pl.DataFrame) -> Table:
    """Makes a table without tasks that were not run; of an ablation, those with at most half of it.

    Half of it is half of what the ablation varies for an encoding: ALiBi has fewer readings than
    relative. An ablation is made of the runs of its rows alone, so that its notes name no other
    tasks.
    """
    table = artifact.make_table(scored)
    filled = {row: _filled(table, row) for row in table.rows}
    if artifact.section != "Ablations":
        return dataclasses.replace(table, rows=[row for row in table.rows if filled[row]])
    planned = {runs.fixed.get("encoding"): _settings(runs) for runs in artifact.runs}
    kept = [
        row
        for row in table.rows
        if filled[row] > planned.get(_encoding(row), len(table.columns)) / 2
    ]
    keys = [row.key.split("\n") for row in kept]
    if not keys:
        return dataclasses.replace(table, rows=[])
    names = ["task", "encoding"][: len(keys[0])]
    shown = pl.DataFrame(keys, names, orient="row")
    return artifact.make_table(scored.join(shown, on=names, how="semi")).measured()


def _filled(table: Table, row: Row) -> int:
    """Returns in how many cells of a row we have numbers."""
    return sum(table.cell(row, column).ours is not None for column in table.columns)


def _settings(runs: Runs) -> int:
    """Returns how many settings are compared on each task."""
    return math.prod(len(values) for name, values in runs.axes.items() if name != "task")


def _encoding(row: Row) -> str:
    return row.key.partition("\n")[2]


def introduction(scored: pl.DataFrame) -> str:
    """Says what was run, on what, and how it differs from the paper's budget."""
    states = Counter(scored["status"].to_list())
    counts = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    done = scored.filter(pl.col("status") == "complete")
    devices = Counter(
        str(json.loads(text).get("device", "unknown")) for text in done["environment"]
    )
    where = ", ".join(f"{name} ({count(n, 'run')})" for name, n in sorted(devices.items()))
    each = done.group_by("steps", "batch").len().sort("len", "steps", descending=True)
    words = "; ".join(
        f"{count(number, 'run')} of {steps:,} steps with {batch} examples"
        for steps, batch, number in each.iter_rows()
    )
    text = (
        f"The store holds {len(scored)} runs ({counts}), {scored['hours'].sum():.1f} hours of "
        f"training on: {where}. Budgets: {words}. {numerics_sentence(scored)} The paper trains "
        "each model for 2,000,000 steps with 128 examples, ten seeds and three learning rates, and "
        "tests up to length 500. "
    )
    if PAPER_BUDGET not in budgets(scored):
        text += (
            "**Nothing here is at the paper's budget**: a lower score may come from the short "
            "training, or from one run instead of the best of thirty, and a test up to a smaller "
            "M is easier. Comparable are the sign and the rough size of differences between "
            "encodings that were trained alike."
        )
    return text.strip()


def comparisons(scored: pl.DataFrame, budget: Budget | None = None) -> list[Comparison]:
    """Returns the pairs of a randomized encoding and its plain form at one budget."""
    runs, _ = select(scored, scored, budget)
    return [pair for pair in compare(runs) if pair.pair != BEST]


def verdict_sentence(found: Sequence[Comparison]) -> str:
    """Counts the verdicts on pairs of encodings."""
    verdicts = Counter(pair.verdict for pair in found)
    counts = ", ".join(f"{verdict} ({number})" for verdict, number in verdicts.most_common())
    clear = [p for p in found if p.paper and p.paper.interval and p.paper.interval.sign]
    agree = sum(pair.verdict == "same sign as in the paper" for pair in clear)
    return (
        f"Verdicts on {count(len(found), 'pair')} of a randomized encoding and its plain form on "
        f"one task: {counts}. The paper's difference is clear in {len(clear)} of them, and in "
        f"{agree} of these ours is clear with the same sign. A difference is clear if its 95 % "
        "interval excludes zero. Ours joins the paired t interval over the seeds, at least 3, with "
        f"the standard error of the tests, which all seeds share{_unmeasured(found)}. The paper's "
        "is a Welch interval from its means and standard deviations over 10 seeds. A side is "
        "learnt if in most of its seeds the accuracy on the longer half of the training lengths is "
        "more than 10 points above both chance and the best constant answer, and neither is if "
        "both answer constantly beyond N; without two learnt sides there is no verdict."
    )


def _unmeasured(found: Sequence[Comparison]) -> str:
    number = sum(pair.error is None and pair.ours.interval is not None for pair in found)
    return f"; in {count(number, 'pair')} it was not measured and is left out" if number else ""


def verdict_table(found: Sequence[Comparison]) -> str:
    """Lists the pairs with both differences, in-domain accuracies and verdicts, as Markdown."""
    lines = [
        "| task | encoding | seeds | randomized − plain, ours | the paper's "
        "| in-domain, randomized / plain | verdict |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for pair in found:
        in_domain = " / ".join(f"{accuracy:.1f}" for accuracy in pair.in_domain)
        lines.append(
            f"| {task_label(pair.task)} | {encoding_label(pair.randomized)} | {len(pair.seeds)} | "
            f"{_difference(pair.ours)} | {_difference(pair.paper)} | {in_domain} | {pair.verdict} |"
        )
    return "\n".join(lines)


def _difference(difference: Difference | None) -> str:
    if difference is None:
        return MISSING
    value, interval = difference
    return f"{value:+.1f}" + (f" [{interval.low:+.1f}, {interval.high:+.1f}]" if interval else "")


def ranked(table: Table, title: str) -> list[str]:
    """Lists the settings of an ablation with their best scores, from three seeds on best first."""
    lines = []
    for row in table.rows:
        ours: dict[str, Value] = {}
        for column in table.columns:
            if (value := table.cell(row, column).ours) is not None:
                ours.setdefault(column.label, value)  # the maximum stands before the mean
        seeds = [value.seeds or 0 for value in ours.values()]
        if min(seeds) >= FEWEST and all(value.alike for value in ours.values()):
            ours = dict(sorted(ours.items(), key=lambda item: -item[1].value))
        words = "; ".join(
            f"{label}: {value.value:.1f}" + "".join(f" ({x:.1f})" for x in value.in_domain)
            for label, value in ours.items()
        )
        lines.append(f"- {row.label} ({count_range(seeds, 'seed')}): {words}")
    about = f"maximum over seeds (in-domain accuracy), from {FEWEST} seeds on the best first"
    return [f"**{title}**, {about}:", "\n".join(lines)] if lines else []


def draws_per_layer(scored: pl.DataFrame) -> list[str]:
    """Says how drawing positions per layer changes the score, beside the paper's spread."""
    runs = reading_runs(scored).runs
    parts = []
    for (task, encoding), rows in runs.group_by("task", "encoding", maintain_order=True):
        gaps = []
        for reading in sorted(set(rows["reading"])):
            same = rows.filter("alike", pl.col("reading") == reading)
            layer, batch = paired(same, "draw", "per_layer", "per_batch")
            if layer.height:
                each, error = gaps_by_seed(layer, batch)
                gap = Difference(sum(each) / len(each), mean_interval(each, error))
                gaps.append(f"{_difference(gap)} ({reading}, {count(len(each), 'seed')})")
        if not gaps:
            continue
        words = f"{task_label(str(task))}: the score with a draw of positions per layer minus that "
        words += "with one per batch, mean over seeds [95 % interval]: "
        words += f"{', '.join(gaps)}."
        if known := from_paper("means", "mean").get((str(task), str(encoding))):
            words += f" The paper's standard deviation over seeds in this cell is {known.sd}."
        parts.append(words)
    return parts

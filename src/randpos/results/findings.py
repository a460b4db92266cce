"""What a store says about the paper's claim, in words and tables: the text of docs/results.md."""

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from randpos.paper.artifacts import ARTIFACTS, tables
from randpos.paper.base import Artifact
from randpos.paper.looks import encoding_label, task_label
from randpos.results.comparison import BEST, Comparison, Difference, compare
from randpos.results.scores import score_runs
from randpos.results.selection import PAPER_BUDGET, Budget, budgets, count, select
from randpos.results.tables.cells import from_paper
from randpos.results.tables.formats import render
from randpos.results.tables.table import MISSING, Row, Table
from randpos.store.tables import StoreTables

LEFT_OUT = ("running-times", "intervals")
"""Tables that repeat others on this page. Open questions have a page of their own."""


def findings(records: StoreTables, store: Path, out: Path = Path("docs/results.md")) -> str:
    """Returns the page as Markdown; every number on it comes from the store or from the paper."""
    scored = score_runs(records)
    made = {
        name: _measured(artifact, artifact.make_table(scored))
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
    if "readings" in made:
        parts += draws_per_layer(made["readings"])
    for name, table in made.items():
        if table.rows:
            parts += [f"## {ARTIFACTS[name].title}", render(table, "markdown").strip()]
    return "\n\n".join(parts) + "\n"


def _measured(artifact: Artifact, table: Table) -> Table:
    """Leaves out tasks that were not run; of an ablation, those with at most half of it."""
    ablation = artifact.section == "Ablations"
    least = len(table.columns) / 2 if ablation else 0

    def filled(row: Row) -> int:
        return sum(table.cell(row, column).ours is not None for column in table.columns)

    kept = dataclasses.replace(table, rows=[row for row in table.rows if filled(row) > least])
    return kept.measured() if ablation else kept


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
        f"training on: {where}. Budgets: {words}. The paper trains each model for 2,000,000 steps "
        "with 128 examples, ten seeds and three learning rates, and tests up to length 500. "
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
        f"one task: {counts}. The paper's difference is clear in {len(clear)} of them, and ours "
        f"has the same sign in {agree}. A difference is clear if its 95 % interval excludes zero: "
        "a paired t interval over our seeds, at least 3, and a Welch interval from the paper's "
        "means and standard deviations over 10 seeds. A side is learnt if its accuracy on the "
        "longer half of the training lengths is more than 10 points above chance; otherwise there "
        "is no verdict."
    )


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
    """Orders the settings of an ablation by their scores, best first."""
    lines = []
    for row in table.rows:
        ours: dict[str, float] = {}
        for column in table.columns:
            if (value := table.cell(row, column).ours) is not None:
                ours.setdefault(column.label, value.value)  # the maximum stands before the mean
        best = sorted(ours.items(), key=lambda item: -item[1])
        words = ", ".join(f"{label} ({score:.1f})" for label, score in best)
        lines.append(f"- {row.label}: {words}")
    return [f"**{title}**, best score first:", "\n".join(lines)] if lines else []


def draws_per_layer(readings: Table) -> list[str]:
    """Says how drawing positions per layer changes the score, beside the paper's spread."""
    parts = []
    for row in readings.rows:
        task, encoding = row.key.split("\n")
        ours = {
            tuple(column.key.split("\n")): value.value
            for column in readings.columns
            if (value := readings.cell(row, column).ours) is not None
        }
        gaps = ", ".join(
            f"{score - ours[reading, 'per_batch']:+.1f} ({reading})"
            for (reading, draw), score in sorted(ours.items())
            if draw == "per_layer" and (reading, "per_batch") in ours
        )
        if not gaps:
            continue
        words = f"{task_label(task)}: drawing per layer instead of per batch changes the score by "
        words += f"{gaps}."
        if known := from_paper("means", "mean").get((task, encoding)):
            words += f" The paper's standard deviation over seeds in this cell is {known.sd}."
        parts.append(words)
    return parts

"""The contents of the page as plain data: an overview, tables, curves, and every run."""

import json
from typing import Any

import polars as pl

from randpos import __version__
from randpos.paper.artifacts import tables
from randpos.paper.looks import encoding_label, encoding_order, task_label, task_order
from randpos.results.numerics_versions import numerics_sentence
from randpos.results.page.curves import (
    COARSE,
    learning_curve,
    mean_curves,
    over_length,
    over_steps,
    styles,
)
from randpos.results.page.headline import headline
from randpos.results.selection import TRAINING, Budget, budgets, span, usual_positions, within
from randpos.results.tables.formats import legend
from randpos.results.tables.table import Column, Row, Table, View
from randpos.results.variants import describe_variant
from randpos.store.tables import StoreTables

SHOWN_BUDGETS = 8
LABELS: dict[View, str] = {
    "ours": "Ours",
    "in_domain": "In-domain",
    "whole": "Whole",
    "forced": "Teacher-forced",
    "seeds": "Seeds",
    "paper": "Paper",
    "difference": "Difference",
}
"""The views of a table on its buttons."""


def summary(records: StoreTables, scored: pl.DataFrame) -> dict[str, Any]:
    """Returns everything but the single runs.

    Args:
        records: The store.
        scored: Its runs, as `score_runs` returns them.
    """
    shown: list[Budget | None] = [*budgets(scored)[:SHOWN_BUDGETS]] or [None]
    panels = [mean_curves(records, usual_positions(within(scored, budget))) for budget in shown]
    drawn = {
        line["encoding"] for panel in panels for task in panel["lengths"] for line in task["series"]
    }
    return {
        "version": __version__,
        "overview": overview(scored),
        "headlines": [headline(scored, budget) for budget in shown],
        "budgets": [budget.text if budget else "No complete run" for budget in shown],
        "tables": {
            name: [
                as_data(artifact.make_table(scored, budget), artifact.section == "Ablations")
                for budget in ([None] if artifact.compares_settings else shown)
            ]
            for name, artifact in tables().items()
        },
        "styles": styles(list(drawn)),
        "curves": panels,
    }


def overview(scored: pl.DataFrame) -> dict[str, Any]:
    """Returns what was run, and on which machines."""
    cells = scored.group_by(*TRAINING, "task", "encoding").agg(
        pl.col("seed", "learning_rate").n_unique(),
        pl.col("hours").sum(),
        runs=pl.len(),
        complete=(pl.col("status") == "complete").sum(),
    )
    what = cells.group_by(TRAINING).agg(
        pl.col("runs", "complete", "hours").sum(),
        tasks=pl.col("task").n_unique(),
        encodings=pl.col("encoding").n_unique(),
        seeds=pl.col("seed").map_batches(span, pl.String, returns_scalar=True),
        rates=pl.col("learning_rate").map_batches(span, pl.String, returns_scalar=True),
    )
    what = what.sort("steps", "runs", *TRAINING, descending=[True, True, *[False] * 4])
    return {
        "runs": scored.height,
        "status": dict(scored["status"].value_counts(sort=True).iter_rows()),
        "tasks": scored["task"].n_unique(),
        "encodings": scored["encoding"].n_unique(),
        "hours": scored["hours"].sum(),
        "what": [
            row | {"variant": row["variant"] and describe_variant(row["variant"])}
            for row in what.iter_rows(named=True)
        ],
        "where": _machines(scored),
        "numerics": numerics_sentence(scored),
    }


def _machines(runs: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns the different environments, the most used one first."""
    machines = []
    for text, count in runs["environment"].value_counts(sort=True).iter_rows():
        known = json.loads(text)
        packages = known.get("packages")  # of a packed store, of any type
        packages = packages if isinstance(packages, dict) else {}
        facts = [known.get(name) for name in ("device", "platform", "python", "commit")]
        versions = ", ".join(f"{name} {version}" for name, version in packages.items())
        device, platform, python, commit = ("" if fact is None else str(fact) for fact in facts)
        machines.append(
            {
                "runs": count,
                "device": device,
                "platform": platform,
                "python": python,
                "packages": versions,
                "commit": commit[:10],
            }
        )
    return machines


def as_data(table: Table, compares: bool = False) -> dict[str, Any]:
    """Returns a table with every number formatted, as in all other formats.

    Args:
        table: The table.
        compares: Whether a row with at most half of its numbers compares nothing.
    """
    views = table.views()

    def cell(row: Row, column: Column) -> dict[str, Any]:
        data: dict[str, Any] = {}
        shown = table.cell(row, column)
        for view in views:
            number = shown.number(view)
            if number is not None:
                text = table.text(row, column, view).replace("-", "−")
                data[view] = [text, round(number, 6), table.is_best(row, column, view)]
        if shown.ours:
            data |= {"detail": shown.ours.detail, "run": shown.ours.run}
        return data

    return {
        "name": table.name,
        "title": table.title,
        "unit": table.unit,
        "signed": table.signed,
        "views": views,
        "labels": {view: LABELS[view] for view in views},
        "columns": [[column.label, column.group, column.signed] for column in table.columns],
        "rows": [[row.label, row.level, row.dagger, row.chance] for row in table.rows],
        "cells": [[cell(row, column) for column in table.columns] for row in table.rows],
        "least": len(table.columns) // 2 + 1 if compares else 1,
        "notes": legend(table),
    }


def run_details(records: StoreTables, scored: pl.DataFrame) -> dict[str, Any]:
    """Returns every run with its learning curve and its accuracies, in columns."""
    drawn = {row[0]: row[1:] for row in over_length(records, scored, COARSE).iter_rows()}
    grids: dict[tuple[int, ...], int] = {}
    lengths, accuracies = [], []
    for run in scored["run"]:
        x, y = drawn.get(run, ([], []))
        lengths.append(grids.setdefault(tuple(x), len(grids)))
        accuracies.append(y)
    tests = {row[0]: row[1:] for row in over_steps(records, scored).iter_rows()}
    names = ["run", "seed", "learning_rate", "steps", "batch", "status", "reason", "maximum"]
    names += ["reading", "draw", "training_length", "test_length", "tested_batch", "step"]
    shares = ["score", "score_error", "in_domain"]
    short = scored.with_columns(pl.col(*shares, "hours").round(6))
    columns = {name: short[name].to_list() for name in [*names, *shares, "hours"]}
    tasks, encodings = task_order(scored["task"]), encoding_order(scored["encoding"])
    return {
        "tasks": [task_label(task) for task in tasks],
        "encodings": [encoding_label(encoding) for encoding in encodings],
        "task": [tasks.index(task) for task in scored["task"]],
        "encoding": [encodings.index(encoding) for encoding in scored["encoding"]],
        **columns,
        "config": scored["config"].to_list(),
        "environment": scored["environment"].to_list(),
        "curve": [learning_curve(text) for text in scored["curve"]],
        "grids": [list(grid) for grid in grids],
        "lengths": lengths,
        "accuracies": accuracies,
        "tests": [tests.get(run) for run in scored["run"]],
    }

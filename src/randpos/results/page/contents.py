"""What the page shows, as plain data: an overview, tables, curves, and the runs one by one."""

import json
from typing import Any

import polars as pl

from randpos import __version__
from randpos.paper.looks import task_label, task_order
from randpos.results.budgets import TRAINING, Budget, budgets, usual, within
from randpos.results.page.curves import COARSE, best_curves, learning_curve, over_length, styles
from randpos.results.tables.encodings import OWN_TABLE
from randpos.results.tables.formats import HEADINGS, legend
from randpos.results.tables.labels import encoding_label, encoding_order
from randpos.results.tables.make import BUILDERS
from randpos.results.tables.table import Column, Row, Table
from randpos.store.tables import StoreTables

SHOWN_BUDGETS = 8
SWEEPS = ("max-position", "readings")
"""Tables that compare settings, and so choose their own budget."""


def summary(records: StoreTables, scored: pl.DataFrame) -> dict[str, Any]:
    """Returns what is shown at once.

    Args:
        records: The store.
        scored: Its runs, as `score_runs` returns them.
    """
    common = usual(scored)
    first = budgets(common.filter(~pl.col("encoding").is_in(OWN_TABLE)))
    every = list(dict.fromkeys([*first, *budgets(common)]))[:SHOWN_BUDGETS]
    shown: list[Budget | None] = [*every] or [None]
    panels = [best_curves(records, within(common, budget)) for budget in shown]
    drawn = {one["encoding"] for panel in panels for task in panel for one in task["series"]}
    return {
        "version": __version__,
        "overview": overview(records, scored),
        "budgets": [budget.text if budget else "No complete run" for budget in shown],
        "headings": HEADINGS,
        "tables": {
            name: [
                as_data(build(scored, budget))
                for budget in (shown if name not in SWEEPS else [None])
            ]
            for name, build in BUILDERS.items()
        },
        "styles": styles(list(drawn)),
        "curves": panels,
    }


def overview(records: StoreTables, scored: pl.DataFrame) -> dict[str, Any]:
    """Returns what was run on what."""
    what = scored.group_by(TRAINING).agg(
        runs=pl.len(),
        complete=(pl.col("status") == "complete").sum(),
        tasks=pl.col("task").n_unique(),
        encodings=pl.col("encoding").n_unique(),
        seeds=pl.col("seed").n_unique(),
        rates=pl.col("learning_rate").n_unique(),
        hours=pl.col("hours").sum(),
    )
    what = what.sort("steps", "runs", *TRAINING, descending=[True, True, *[False] * 4])
    return {
        "runs": scored.height,
        "status": dict(scored["status"].value_counts(sort=True).iter_rows()),
        "tasks": scored["task"].n_unique(),
        "encodings": scored["encoding"].n_unique(),
        "hours": scored["hours"].sum(),
        "lengths": records.accuracies.height,
        "what": what.to_dicts(),
        "where": _machines(scored),
    }


def _machines(runs: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns the different environments, the most used one first."""
    machines = []
    for text, count in runs["environment"].value_counts(sort=True).iter_rows():
        try:
            known = json.loads(text)
        except (ValueError, RecursionError):
            known = {}
        known = known if isinstance(known, dict) else {}
        packages = known.get("packages")
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


def as_data(table: Table) -> dict[str, Any]:
    """Returns a table with every number already written, as all other formats write it."""
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
        "columns": [[column.label, column.group, column.signed] for column in table.columns],
        "rows": [[row.label, row.level, row.dagger, row.chance] for row in table.rows],
        "cells": [[cell(row, column) for column in table.columns] for row in table.rows],
        "notes": legend(table),
    }


def run_details(records: StoreTables, scored: pl.DataFrame) -> dict[str, Any]:
    """Returns every run: its facts, its learning curve and its accuracies, in columns."""
    drawn = {row[0]: row[1:] for row in over_length(records, scored, COARSE).iter_rows()}
    grids: dict[tuple[int, ...], int] = {}
    lengths, accuracies = [], []
    for run in scored["run"]:
        x, y = drawn.get(run, ([], []))
        lengths.append(grids.setdefault(tuple(x), len(grids)))
        accuracies.append(y)
    names = ["run", "seed", "learning_rate", "steps", "batch", "status", "reason", "maximum"]
    names += ["reading", "draw", "training_length", "test_length", "tested_batch", "step"]
    short = scored.with_columns(pl.col("score", "in_domain", "hours").round(6))
    columns = {name: short[name].to_list() for name in [*names, "score", "in_domain", "hours"]}
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
    }

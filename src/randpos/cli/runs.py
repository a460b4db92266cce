"""`randpos runs`: what a store holds."""

import json
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl
import tyro

from randpos.cli.display import Format, plot, show, show_lengths
from randpos.errors import UserError
from randpos.facts import combinations, tasks
from randpos.plain_data import flat
from randpos.results.scores import score_runs
from randpos.store.accuracies import SCHEMA, WAY
from randpos.store.files import explained
from randpos.store.folder import Store
from randpos.store.lock import BusyError
from randpos.store.result import Accuracy, Status, percent
from randpos.store.rows import combination_name
from randpos.store.tables import StoreTables, pack, read_store
from randpos.sweeps.snapshots import read_snapshot, write_snapshot

LISTED = ["run", "task", "encoding", "seed", "learning_rate", "steps", "status", "step"]
SHORT = 8
"""Letters of a digest in a list: enough to name a run."""
SCORES = ["score", "in_domain"]
DRAWN = {
    "maximum": pl.format("L={}", "maximum"),
    "reading": pl.col("reading").replace("positions", None),
    "draw": pl.col("draw").replace("per_batch", None),
}
"""How positions were drawn: columns of a store, and what a list shows of them, the usual values
left out."""
REPEATED = {*DRAWN, "training_length"}
"""Columns that a run's configuration has too."""


@dataclass(frozen=True)
class Runs:
    """List the runs of a store with scores, `show` one, `prune` some, or `pack` their results.

    Scores are in percent: the mean accuracy over the lengths N+1..M, and in domain over 1..N. The
    list has the best run of a task first. `prune` removes the runs of a --status, --task or
    --encoding; without --yes it only prints them. `pack` writes the configurations and accuracies
    of all runs into two small files that are a store themselves; the runs that --keep names are
    copied whole, for commands that need their parameters.
    """

    action: tyro.conf.Positional[Literal["list", "show", "prune", "pack"]] = "list"
    """What to do."""
    name: tyro.conf.Positional[str] = ""
    """For show: the beginning of a digest. For pack: the folder to write to."""
    store: Path = Path("runs")
    """The store."""
    status: Status | None = None
    """Only runs with this status."""
    task: tuple[str, ...] = ()
    """Only runs of these tasks."""
    encoding: tuple[str, ...] = ()
    """Only runs with these encodings."""
    keep: tuple[str, ...] = ()
    """For pack: digests, or their beginnings, of runs to copy whole."""
    yes: bool = False
    """For prune: remove the runs instead of printing them."""
    format: Format = "text"
    """How the result is printed."""

    def __call__(self) -> None:
        """Carries out the action on the runs that the filters select."""
        tables = read_store(self.store)
        encodings = [combination_name(name) for name in self.encoding]
        tables = tables.only(task=self.task, encoding=encodings)
        if self.status is not None:
            tables = tables.with_runs(tables.runs.filter(pl.col("status") == self.status))
        if self.action == "list":
            show_list(tables, self.format)
        elif self.action == "show":
            self.show(tables)
        elif self.action == "prune":
            self.prune(set(tables.runs["run"]))
        else:
            self.pack(tables)

    def show(self, tables: StoreTables) -> None:
        """Prints settings, environment, scores and accuracies of one run."""
        found = tables.runs.filter(pl.col("run").str.starts_with(self.name))
        if found.is_empty():
            Store(self.store).find(self.name).experiment()  # Says why the run was left out.
        if len(found) != 1:
            raise UserError(f"{self.name!r} fits {len(found)} runs in {self.store}, not one.")
        tables = tables.with_runs(found)
        row = {**found.row(0, named=True), **score_runs(tables).select(SCORES).row(0, named=True)}
        parsed: dict[str, Any] = {
            name: json.loads(row.pop(name)) for name in ("config", "environment", "curve")
        }
        accuracies = tables.accuracies.drop("run")
        if self.format == "json":
            show([{**row, **parsed, "accuracies": accuracies.to_dicts()}], "json")
            return
        facts = {name: value for name, value in row.items() if name not in REPEATED}
        facts |= {name: percent(row[name]) for name in SCORES}
        if row["seconds"] is not None:
            facts["seconds"] = f"{row['seconds']:.1f}"
        facts |= {**flat(parsed["config"]), **flat(parsed["environment"])}
        show([{"what": k, "value": str(v)} for k, v in facts.items() if v is not None], "text")
        if not accuracies.is_empty():
            chance = tasks()[row["task"]].chance if row["task"] in tasks() else None
            curves = named_curves(accuracies)
            for way, curve in curves.items():
                show_lengths(curve, f"Accuracy by length, {way}")
            print(plot(curves, row["training_length"], chance))

    def prune(self, names: Collection[str]) -> None:
        """Removes the runs with these names, except those that another process works on."""
        if not (self.status or self.task or self.encoding):
            raise UserError("runs prune needs --status, --task or --encoding: the runs to remove.")
        # Packed runs have no folder of their own.
        for folder in [run for run in Store(self.store).runs() if run.path.name in names]:
            if self.yes:
                try:
                    lock = folder.lock()
                except BusyError as error:
                    print(f"kept {folder.path}: {error}")
                    continue
                try:
                    with explained(folder.path):
                        shutil.rmtree(folder.path)
                finally:
                    lock.release()
            print(f"{'removed' if self.yes else 'would remove'} {folder.path}")
        if names and not self.yes:
            print("Nothing was removed; pass --yes to do it.")

    def pack(self, tables: StoreTables) -> None:
        """Writes the runs as a packed store."""
        if not self.name:
            raise UserError("runs pack needs a folder to write to: randpos runs pack FOLDER.")
        whole = [Store(self.store).find(digest) for digest in self.keep]
        pack(tables, Path(self.name))
        for folder in whole:
            copy = Store(Path(self.name)).run_at(folder.path.name)
            write_snapshot(read_snapshot(folder.path), copy.path)
        print(f"{len(tables.runs):,} runs packed into {self.name}")


def show_list(tables: StoreTables, form: Format) -> None:
    """Prints one row per run: the best run of a task first, then those without a score."""
    runs = tables.runs.join(score_runs(tables).select("run", *SCORES), on="run")
    runs = runs.sort(
        *("task", "score", "encoding", "seed", "learning_rate", "run"),
        descending=[False, True, False, False, False, False],
        nulls_last=True,
    )
    if form == "json":
        show(runs.select(*LISTED, *SCORES, "reason", *DRAWN).to_dicts(), "json")
        return
    ordinal = [name for name, (prefix, _) in combinations().items() if not prefix]
    drawn = runs.select(
        pl.when(~pl.col("encoding").is_in(ordinal)).then(column).alias(column) for column in DRAWN
    )
    # A setting is shown where it tells runs apart; what all runs share is in the title.
    differing = [
        column.name for column in drawn.iter_columns() if column.drop_nulls().n_unique() > 1
    ]
    positions = (
        drawn.select(
            positions=pl.concat_str(
                [DRAWN[name] for name in differing], separator=", ", ignore_nulls=True
            )
        )
        if differing
        else []
    )
    settings = runs.rename({"learning_rate": "rate"})
    settings = settings.select("task", "encoding", "seed", "rate", "steps", "status")
    alike = [column for column in settings.iter_columns() if column.n_unique() == 1]
    settings = settings.drop(column.name for column in alike)
    reasons = [] if runs["reason"].is_null().all() else ["reason"]
    names = [name for name in ("task", "encoding") if name in settings.columns]
    digests = runs["run"].str.head(SHORT)
    results = runs.select(*SCORES, *reasons)
    columns = [digests, *settings.select(names), *positions, *settings.drop(names), *results]
    shown = [
        {k: percent(v) if k in SCORES else v for k, v in row.items()}
        for row in pl.DataFrame(columns).to_dicts()
    ]
    title = [f"{len(runs):,} runs", *(f"{column.name} {column[0]}" for column in alike)]
    show(shown, "text", f"{', '.join(title)}; score and in domain in %")


def named_curves(accuracies: pl.DataFrame) -> dict[str, list[Accuracy]]:
    """Returns the accuracies by length of every test of a run, named by how it was tested."""
    return {
        ", ".join(
            f"{name} {value}" for name, value in zip(WAY, way, strict=True) if value is not None
        ): [Accuracy(*row) for row in table.select(*SCHEMA).iter_rows()]
        for way, table in accuracies.group_by(*WAY, maintain_order=True)
    }

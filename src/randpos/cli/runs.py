"""`randpos runs`: what a store holds."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl
import tyro

from randpos.catalog import combinations
from randpos.cli.display import Format, show
from randpos.errors import UserError
from randpos.experiment import flat
from randpos.store.files import explained
from randpos.store.folder import Store
from randpos.store.lock import BusyError
from randpos.store.tables import StoreTables, pack, read_store
from randpos.sweeps.snapshots import put, take

LISTED = ["run", "task", "encoding", "seed", "learning_rate", "steps", "status", "step", "reason"]
DRAWN = {"maximum": "L", "reading": "reading", "draw": "draw"}
"""How positions were drawn: columns of a store, and what they are called in a list."""
REPEATED = {*DRAWN, "training_length"}
"""What a run's configuration tells as well."""


@dataclass(frozen=True)
class Runs:
    """List the runs of a store, `show` one, `prune` some, or `pack` their results.

    `prune` removes the runs of a --status; without --yes it only tells which. `pack` writes the
    configurations and accuracies of all runs into two small files that are a store themselves; the
    runs that --keep names are copied whole, for commands that need their parameters.
    """

    action: tyro.conf.Positional[Literal["list", "show", "prune", "pack"]] = "list"
    """What to do."""
    name: tyro.conf.Positional[str] = ""
    """For show: the beginning of a digest. For pack: the folder to write to."""
    store: Path = Path("runs")
    """The store."""
    status: Literal["complete", "diverged", "failed", "unfinished"] | None = None
    """Only runs that stand so."""
    keep: tuple[str, ...] = ()
    """For pack: digests, or their beginnings, of runs to copy whole."""
    yes: bool = False
    """Remove, instead of telling what would be removed."""
    format: Format = "text"
    """How the result is printed."""

    def __call__(self) -> None:
        """Does it."""
        records = read_store(self.store, tested=self.action in ("show", "pack"))
        runs = records.runs
        if self.status is not None:
            runs = runs.filter(pl.col("status") == self.status)
        if self.action == "list":
            every = self.format == "json"
            table = runs.select(*LISTED, *DRAWN) if every else listed(runs)
            show(table.to_dicts(), self.format, f"{len(runs):,} runs")
        elif self.action == "show":
            self.show(records)
        elif self.action == "prune":
            self.prune(runs["run"].to_list())
        elif not self.name:
            raise UserError("runs pack needs a folder to write to: randpos runs pack FOLDER.")
        else:
            kept = records.accuracies.filter(pl.col("run").is_in(runs["run"].implode()))
            whole = [Store(self.store).find(digest) for digest in self.keep]
            pack(StoreTables(runs, kept), Path(self.name))
            for folder in whole:
                put(take(folder.path), Store(Path(self.name)).run_at(folder.path.name).path)
            print(f"{len(runs):,} runs packed into {self.name}")

    def show(self, records: StoreTables) -> None:
        """Prints everything that is known of one run."""
        fits = records.runs.filter(pl.col("run").str.starts_with(self.name))
        if fits.is_empty():
            Store(self.store).find(self.name).experiment()  # says why it was left out
        if len(fits) != 1:
            raise UserError(f"{self.name!r} fits {len(fits)} runs in {self.store}, not one.")
        row = fits.row(0, named=True)
        try:
            parsed: dict[str, Any] = {
                name: json.loads(row.pop(name)) for name in ("config", "environment", "curve")
            }
        except (TypeError, ValueError, RecursionError) as error:
            raise UserError(f"the packed run {row['run']} is damaged: {error}.") from error
        tested = records.accuracies.filter(pl.col("run") == row["run"]).drop("run").to_dicts()
        if self.format == "json":
            show([{**row, **parsed, "accuracies": tested}], "json")
            return
        known = {name: value for name, value in row.items() if name not in REPEATED}
        if known["seconds"] is not None:
            known["seconds"] = f"{known['seconds']:.1f}"
        facts = {**known, **flat(parsed["config"]), **flat(parsed["environment"])}
        show([{"what": k, "value": str(v)} for k, v in facts.items() if v is not None], "text")
        show(tested, "text", "Accuracy by length")

    def prune(self, names: list[str]) -> None:
        """Removes runs that nobody works on."""
        if self.status is None:
            raise UserError("runs prune needs --status, which says what runs are to be removed.")
        # What the store itself lists: the others are packed, under names that anybody may write.
        for folder in list(Store(self.store).runs()):
            if folder.path.name not in names:
                continue
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


def listed(runs: pl.DataFrame) -> pl.DataFrame:
    """Returns what a list shows of runs: how positions were drawn only where that tells them apart.

    Ordinal positions are not drawn at all.
    """
    ordinal = [name for name, one in combinations().items() if not one.prefix]
    drawn = runs.select(
        pl.when(~pl.col("encoding").is_in(ordinal)).then(column).alias(label)
        for column, label in DRAWN.items()
    )
    differing = [column for column in drawn.iter_columns() if column.drop_nulls().n_unique() > 1]
    before, after = LISTED[:3], LISTED[3:]
    return pl.DataFrame([*runs.select(before), *differing, *runs.select(after)])

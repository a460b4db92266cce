"""`randpos report`, `randpos figure` and `randpos reproduce`."""

import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.text import Text

from randpos.cli.display import plot
from randpos.cli.sweeping import Sweep
from randpos.cli.tables import show_table
from randpos.errors import UserError, unknown
from randpos.experiment import Experiment
from randpos.paper.artifacts import ARTIFACTS, experiments, figures, paper_experiments
from randpos.paper.slices import Slice
from randpos.results.page.sections import Picture
from randpos.store.files import write_atomic
from randpos.store.result import Accuracy
from randpos.store.tables import StoreTables, read_store

ENDINGS = {"markdown": "md", "latex": "tex", "csv": "csv"}


@dataclass(frozen=True)
class Report:
    """Write a store's report: one HTML page with all tables, curves, figures and runs.

    With an --out that ends in .md it writes what was found, in words and tables.
    """

    store: tyro.conf.Positional[Path] = Path("runs")
    """The store."""
    out: Path = Path("report.html")
    """The file to write."""
    figures: bool = True
    """Include the figures that look into trained models."""
    serve: bool = False
    """Show the page on 127.0.0.1 instead, renewed while a sweep runs."""
    port: int = 8000
    """Where to serve; 0 takes any port that is free."""

    def __call__(self) -> None:
        """Writes or serves the page."""
        if self.serve:
            self.show()
            return
        from randpos.results import write_page
        from randpos.results.findings import findings

        with Console(stderr=True).status(Text(f"Reading {self.store} …")) as status:
            records = read_store(self.store)
            if self.out.suffix == ".md":
                status.update("Comparing with the paper …")
                write_atomic(self.out, findings(records, self.store, self.out).encode())
            else:
                status.update("Drawing figures that look into trained models …")
                drawn = pictures(records, self.store, warn=True) if self.figures else None
                status.update(Text(f"Writing {len(records.runs):,} runs to {self.out} …"))
                write_page(records, self.out, drawn)
        print(self.out)

    def show(self) -> None:
        """Serves the page until it is interrupted."""
        from randpos.results import serve

        draw = (lambda records: pictures(records, self.store)) if self.figures else None
        with Console(stderr=True).status(Text(f"Making the report of {self.store} …")) as status:

            def ready(address: str) -> None:
                status.stop()
                where = f"The report of {self.store} is at {address}, for this machine only."
                print(f"{where} It follows the store. Ctrl-C ends it.", flush=True)

            try:
                serve(self.store, self.port, draw, ready)
            except KeyboardInterrupt:
                print("randpos: the report is not served any more.", file=sys.stderr)


@dataclass(frozen=True)
class Figures:
    """Draw a figure of the paper from a store, as PNG, SVG and PDF."""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(help=f"{', '.join(figures())}.")]
    store: Path = Path("runs")
    """The store."""
    out: Path = Path("figures")
    """The folder to write to."""
    tasks: tuple[str, ...] = ()
    """Only runs of these tasks."""
    encodings: tuple[str, ...] = ()
    """Only runs of these encodings."""

    def __call__(self) -> None:
        """Writes the files and prints their names."""
        from randpos.catalog import get_combination
        from randpos.results.figures import save

        if self.name not in figures():
            raise unknown("figure", self.name, figures())
        artifact = ARTIFACTS[self.name]
        encodings = [get_combination(name).name for name in self.encodings]
        if artifact.runs:
            records = read_store(self.store).only(task=self.tasks, encoding=encodings)
            figure = artifact.draw(records, self.store)
        else:
            figure = artifact.draw()
        print(*save(figure, self.out / self.name), sep="\n")


@dataclass(frozen=True)
class Reproduce:
    """Run what is missing of a table or figure, then write it beside the paper's."""

    name: Annotated[
        tyro.conf.Positional[str], tyro.conf.arg(help=f"{', '.join(experiments())}, or all.")
    ]
    part: Annotated[Slice, tyro.conf.arg(name="")]
    store: Path = Path("runs")
    """Folder that runs are kept in."""
    out: Path = Path("reports")
    """Folder for the tables, figures and the page."""
    executor: Literal["local", "ray"] = "local"
    """Where runs are done: processes on this machine, or a Ray cluster."""
    address: str = "auto"
    """Address of the Ray cluster."""
    workers: int | None = None
    """Jobs at a time; by default one per core, or per accelerator."""
    retry_failed: bool = False
    """Try failed runs again."""

    def __call__(self) -> None:
        """Sweeps, then writes tables, figures and the page."""
        from randpos.results import make_table, render, write_page
        from randpos.results.figures import save

        known = experiments()
        if self.name not in (*known, "all"):  # a grid file has no tables of its own
            raise unknown("experiment", self.name, [*known, "all"])
        chosen = paper_experiments() if self.name == "all" else {self.name: known[self.name]}
        sweep = Sweep(
            self.name,
            self.part,
            self.store,
            executor=self.executor,
            address=self.address,
            workers=self.workers,
            retry_failed=self.retry_failed,
        )
        sweep()
        records = read_store(self.store)
        for name, artifact in chosen.items():
            if artifact.table:
                table = make_table(records, name)
                for form, ending in ENDINGS.items():
                    write_atomic(self.out / f"{name}.{ending}", render(table, form).encode())
                show_table(table)
            if name == "curves":
                show_curves(records, sweep.experiments())
            if artifact.figure:
                try:
                    print(*save(artifact.draw(records, self.store), self.out / name), sep="\n")
                except UserError as error:  # the other artifacts and the page are still written
                    warnings.warn(f"no figure {name}: {error}", stacklevel=2)
        write_page(records, self.out / "report.html", pictures(records, self.store))
        print(self.out / "report.html")


def show_curves(records: StoreTables, experiments: Sequence[Experiment]) -> None:
    """Draws accuracy over length in the terminal, task by task, the first run of each encoding."""
    from randpos.results.scores import counted_accuracies, score_runs
    from randpos.tasks import get_task

    by_run = counted_accuracies(records, score_runs(records)).partition_by("run", as_dict=True)
    for task in dict.fromkeys(experiment.task for experiment in experiments):
        curves: dict[str, list[Accuracy]] = {}
        runs = [experiment for experiment in experiments if experiment.task == task]
        for run in runs:
            rows = by_run.get((run.digest,))
            if run.encoding not in curves and rows is not None:
                found = rows.select(Accuracy._fields).iter_rows()
                curves[run.encoding] = [Accuracy(*row) for row in found]
        if curves:
            drawn = plot(curves, runs[0].lengths.maximum, get_task(task).chance)
            print(f"\n{task}: accuracy over length\n\n{drawn}\n")


def pictures(records: StoreTables, store: Path, warn: bool = False) -> dict[str, Picture]:
    """Draws the figures that the store has the runs for; the page shows the curves itself.

    Args:
        records: The records of the store.
        store: The store itself.
        warn: Warn once about the figures that cannot be drawn, with the command that helps.
    """
    from randpos.results.figures import save
    from randpos.results.figures.style import caption_of

    found, missing = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, artifact in figures().items():
            if name == "curves":
                continue
            try:
                figure = artifact.draw(records, store)
                save(figure, Path(folder) / name)
            except UserError as error:
                missing[name] = str(error)
                continue
            content = (Path(folder) / f"{name}.svg").read_bytes()
            found[artifact.title] = Picture(content, caption_of(figure))
    if warn and missing:
        name, reason = next(iter(missing.items()))
        others = f" Nor has it {', '.join(list(missing)[1:])}." if len(missing) > 1 else ""
        warnings.warn(f"the report has no figure {name}: {reason}{others}", stacklevel=2)
    return found

"""`randpos report`, `randpos table`, `randpos figure` and `randpos reproduce`."""

import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from randpos.catalog import get_combination
from randpos.cli.display import plot
from randpos.cli.sweeping import Sweep
from randpos.errors import UserError, unknown
from randpos.experiment import Experiment
from randpos.paper.experiments import Slice, names
from randpos.store.files import write_atomic
from randpos.store.tables import StoreTables, read_store
from randpos.tasks import get_task
from randpos.training.evaluation import Accuracy

MADE_OF = {
    "table1": (["table1", "gains", "intervals", "comparison"], ["curves"]),
    "table-means": (["table-means"], []),
    "running-times": (["running-times", "running-times-measured"], []),
    "ablation-sorting": (["ablation-sorting"], []),
    "geometric": (["geometric"], []),
    "max-position": (["max-position"], ["max-position"]),
    "efficiency": ([], ["efficiency"]),
    "curves": ([], ["curves"]),
    "pca": ([], ["pca"]),
    "attention": ([], ["attention"]),
    "readings": (["readings"], []),
}
"""The tables and figures that an experiment's runs are for."""
ENDINGS = {"markdown": "md", "latex": "tex", "csv": "csv"}
TITLES = {
    "overview": "The method",
    "curves": "Accuracy over length",
    "efficiency": "Training on short sequences against training on long ones",
    "max-position": "The largest position L",
    "pca": "Activations at the training length and beyond",
    "attention": "Attention at the training length and beyond",
}


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
        from randpos.results import serve, write_page
        from randpos.results.findings import findings

        if self.serve:
            draw = (lambda records: pictures(records, self.store)) if self.figures else None
            serve(self.store, self.port, draw)
            return
        records = read_store(self.store)
        if self.out.suffix == ".md":
            write_atomic(self.out, findings(records, self.store, self.out).encode())
        else:
            drawn = pictures(records, self.store, tell=True) if self.figures else None
            write_page(records, self.out, drawn)
        print(self.out)


@dataclass(frozen=True)
class Tables:
    """Print a table of the paper with our numbers beside the published ones."""

    name: tyro.conf.Positional[str]
    """table1, table-means, running-times, running-times-measured, ablation-sorting, geometric,
    max-position, readings, gains, intervals, comparison."""
    store: Path = Path("runs")
    """The store."""
    format: Literal["text", "markdown", "latex", "csv"] = "text"
    """How it is printed."""

    def __call__(self) -> None:
        """Prints the table."""
        from randpos.results import make_table, render

        print(render(make_table(read_store(self.store), self.name), self.format))


@dataclass(frozen=True)
class Figures:
    """Draw a figure of the paper from a store, as PNG, SVG and PDF."""

    name: tyro.conf.Positional[str]
    """curves, efficiency, max-position, pca, attention, overview."""
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
        from randpos.results.figures import FIGURES, save

        if self.name not in FIGURES:
            raise unknown("figure", self.name, FIGURES)
        encodings = [get_combination(name).name for name in self.encodings]
        records = read_store(self.store).only(task=self.tasks, encoding=encodings)
        figure = FIGURES[self.name](records, self.store)
        print(*save(figure, self.out / self.name), sep="\n")


@dataclass(frozen=True)
class Reproduce:
    """Run what is missing of a table or figure, then write it beside the paper's."""

    name: tyro.conf.Positional[str]
    """A named experiment such as table1, or `all` of them."""
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

    def __call__(self) -> None:
        """Sweeps, then writes tables, figures and the page."""
        from randpos.results import make_table, render, write_page
        from randpos.results.figures import FIGURES, save

        chosen = names() if self.name == "all" else [self.name]
        if self.name not in (*MADE_OF, "all"):  # a file of a grid has no tables of its own
            raise unknown("experiment", self.name, [*MADE_OF, "all"])
        where = {"executor": self.executor, "address": self.address, "workers": self.workers}
        sweep = Sweep(self.name, self.part, self.store, **where)
        sweep()
        records = read_store(self.store)
        tables = dict.fromkeys(table for one in chosen for table in MADE_OF[one][0])
        for name in tables:
            table = make_table(records, name)
            for form, ending in ENDINGS.items():
                write_atomic(self.out / f"{name}.{ending}", render(table, form).encode())
            print(render(table, "text"))
        for name in dict.fromkeys(figure for one in chosen for figure in MADE_OF[one][1]):
            if name == "curves":
                show_curves(records, sweep.experiments())
            try:
                print(*save(FIGURES[name](records, self.store), self.out / name), sep="\n")
            except UserError as error:  # the others, and the page, are wanted all the same
                warnings.warn(f"no figure {name}: {error}", stacklevel=2)
        write_page(records, self.out / "report.html", pictures(records, self.store))
        print(self.out / "report.html")


def show_curves(records: StoreTables, experiments: Sequence[Experiment]) -> None:
    """Draws accuracy over length in the terminal, task by task, the first run of each encoding."""
    by_way = records.accuracies.partition_by("run", "batch", "seed", as_dict=True)
    for task in dict.fromkeys(one.task for one in experiments):
        curves: dict[str, list[Accuracy]] = {}
        runs = [one for one in experiments if one.task == task]
        for one in runs:
            rows = by_way.get((one.digest, one.evaluation.batch, one.evaluation.seed))
            if one.encoding not in curves and rows is not None:
                found = rows.select(Accuracy._fields).iter_rows()
                curves[one.encoding] = [Accuracy(*row) for row in found]
        if curves:
            drawn = plot(curves, runs[0].lengths.maximum, get_task(task).chance)
            print(f"\n{task}: accuracy over length\n\n{drawn}\n")


def pictures(records: StoreTables, store: Path, tell: bool = False) -> dict[str, bytes]:
    """Draws the figures that the store has the runs for; the page shows the curves itself.

    Args:
        records: What the store holds.
        store: The store itself.
        tell: Warn of every figure that cannot be drawn, and say what to run for it.
    """
    from randpos.results.figures import FIGURES, save

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, draw in FIGURES.items():
            if name == "curves":
                continue
            try:
                save(draw(records, store), Path(folder) / name)
            except UserError as error:
                if tell:
                    warnings.warn(f"the report has no figure {name}: {error}", stacklevel=2)
                continue
            found[TITLES[name]] = (Path(folder) / f"{name}.svg").read_bytes()
    return found

"""`randpos tasks`, `randpos encodings` and `randpos export`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from randpos.catalog import combinations
from randpos.cli.display import Format, show
from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.export import export_torch
from randpos.run import Run
from randpos.setup import resolve
from randpos.store.folder import Store
from randpos.tasks import get_task
from randpos.tasks.render import examples, table
from randpos.tasks.render import show as show_examples


@dataclass(frozen=True)
class Tasks:
    """List the tasks, or `show` examples of one."""

    action: tyro.conf.Positional[Literal["list", "show"]] = "list"
    """What to do."""
    name: tyro.conf.Positional[str] = ""
    """The task to show: a name, or module:Class for one of your own."""
    length: int = 12
    """Length of the examples."""
    count: int = 5
    """How many examples."""
    seed: int = 0
    """Seed of the examples."""
    format: Format = "text"
    """How the result is printed."""

    def __call__(self) -> None:
        """Lists or shows."""
        if self.action == "list":
            show(table(), self.format, "Tasks")
        elif not self.name:
            raise UserError("tasks show needs a name, such as: randpos tasks show reverse_string.")
        elif self.format == "json":
            show(examples(get_task(self.name), self.length, self.count, self.seed), "json")
        else:
            print(*show_examples(get_task(self.name), self.length, self.count, self.seed), sep="\n")


@dataclass(frozen=True)
class Encodings:
    """List every encoding with every scheme of positions."""

    format: Format = "text"
    """How the result is printed."""

    def __call__(self) -> None:
        """Lists them, with the size of the paper's model on a binary task."""
        show([encoding_row(name) for name in combinations()], self.format, "Encodings")


@dataclass(frozen=True)
class Export:
    """Write a trained run's model to a file for another framework."""

    run: tyro.conf.Positional[str]
    """A run's folder, or the beginning of its digest."""
    to: Literal["torch"] = "torch"
    """The framework; randpos.torch.load_encoder reads the file."""
    out: Path | None = None
    """The file to write; by default torch.safetensors in the run's folder."""
    store: Path = Path("runs")
    """Where to look for a digest."""
    overwrite: bool = False
    """Replace the file if it exists."""

    def __call__(self) -> None:
        """Writes the file and prints its name."""
        run = Run((Store(self.store).find(self.run),))
        out = self.out or run.folders[0].path / f"{self.to}.safetensors"
        if os.path.lexists(out) and not self.overwrite:
            raise UserError(f"{out} exists; pass --overwrite to replace it, or another --out.")
        export_torch(run.model(), out)
        print(out)


def encoding_row(name: str) -> dict[str, Any]:
    """Returns the facts of a combination."""
    combination = combinations()[name]
    return {
        "name": name,
        "description": combination.description,
        "paper_row": combination.paper_row,
        "pytorch": combination.encoding.pytorch,
        "parameters": resolve(Experiment(task="reverse_string", encoding=name)).parameter_count,
    }

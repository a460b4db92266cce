"""`randpos tasks`, `randpos encodings` and `randpos export`.

Listing does not load JAX. `python -m randpos.cli.listing` writes the file of facts that it reads.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from randpos import facts
from randpos.cli.display import Format, show
from randpos.errors import UserError

SCHEMES = ("randomized", "unsorted")


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
            self.show_list()
            return
        if not self.name:
            raise UserError("tasks show needs a name, such as: randpos tasks show reverse_string.")
        from randpos.tasks import get_task
        from randpos.tasks.render import examples
        from randpos.tasks.render import show as show_examples

        chosen = get_task(self.name), self.length, self.count, self.seed
        if self.format == "json":
            show(examples(*chosen), "json")
        else:
            print(*show_examples(*chosen), sep="\n")

    def show_list(self) -> None:
        """Lists all tasks; a terminal shows what tells them apart."""
        rows = [asdict(task) for task in facts.tasks().values()]
        if self.format == "json":
            show(rows, "json")
            return
        shown = [
            {
                "name": row["name"] + ("†" if row["permutation_invariant"] else ""),
                "level": row["level"],
                "answer": row["output_length"],
                "chance": f"{100 * row['chance']:.0f} %",
                "description": row["description"],
            }
            for row in rows
        ]
        show(shown, "text", "Tasks; answer: its length at input length n")
        print("† permutation-invariant: can be solved without positions.")
        print("R regular, DCF deterministic context-free, CS context-sensitive.")


@dataclass(frozen=True)
class Encodings:
    """List the encodings; each exists with every scheme of positions."""

    format: Format = "text"
    """How the result is printed; JSON lists every combination of encoding and scheme."""

    def __call__(self) -> None:
        """Lists them, with the size of the paper's model on a binary task."""
        stored = facts.stored()
        rows = stored["combinations"] if stored else combination_rows()
        if self.format == "json":
            show(rows, "json")
            return
        by_name = {row["name"]: row for row in rows}
        shown = [
            {
                "name": name,
                "description": row["description"],
                "in the paper": "yes" if row["paper_name"] else "",
                "parameters": row["parameters"],
            }
            for name, row in by_name.items()
            if not name.startswith(SCHEMES)
        ]
        show(shown, "text", "Encodings; parameters: of the paper's model on a binary task")
        print("With random positions, a sorted subset of 1..L: randomized-NAME (not of none).")
        print("With a random subset that is not sorted: unsorted-NAME.")


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
        from randpos.export import export_torch
        from randpos.run import Run
        from randpos.setup import resolve
        from randpos.store.folder import Store

        run = Run((Store(self.store).find(self.run),))
        out = self.out or run.folders[0].path / f"{self.to}.safetensors"
        if os.path.lexists(out) and not self.overwrite:
            raise UserError(f"{out} exists; pass --overwrite to replace it, or another --out.")
        export_torch(run.model(), out, resolve(run.experiment()).layout)
        print(out)


def combination_rows() -> list[dict[str, Any]]:
    """Returns the facts of every combination of an encoding and a scheme, from the classes."""
    from randpos.catalog import combinations
    from randpos.experiment import Experiment
    from randpos.setup import resolve

    return [
        {
            "name": name,
            "description": combination.description,
            "paper_name": combination.paper_name,
            "pytorch": combination.encoding.pytorch,
            "parameters": resolve(Experiment(encoding=name)).parameter_count,
        }
        for name, combination in combinations().items()
    ]


def current_facts() -> dict[str, Any]:
    """Returns what `facts.json` must hold."""
    return {
        "registries": facts.registries_digest(),
        "tasks": facts.task_rows(),
        "encodings": facts.encoding_rows(),
        "combinations": combination_rows(),
    }


if __name__ == "__main__":
    text = json.dumps(current_facts(), indent=1, ensure_ascii=False)
    facts.FILE.write_text(text + "\n", encoding="utf-8")

"""The commands `tasks export`, `tasks harness` and `benchmark references`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from randpos.benchmark.evaluation import evaluate
from randpos.benchmark.export import WRITERS, FileFormat
from randpos.benchmark.formats import Form, Layout, Padding
from randpos.benchmark.harness import PREFIX, write_tasks
from randpos.benchmark.references import references
from randpos.benchmark.sampling import Examples, parsed_lengths
from randpos.benchmark.storing import Entry, Existing
from randpos.benchmark.streams import Split
from randpos.errors import UserError, check_count
from randpos.store.result import percent
from randpos.tasks import PAPER_TASKS, get_task
from randpos.tasks.base import Task


@dataclass(frozen=True)
class ExportTasks:
    """Write examples of tasks to files, for models of any framework."""

    names: tyro.conf.Positional[tuple[str, ...]] = ()
    """The tasks; by default the paper's fifteen."""
    lengths: str = "1-40"
    """Sampled lengths: numbers and ranges, such as 1-40,50,100-500:100."""
    count: int = 100
    """Examples per length."""
    seed: int = 0
    """Seed of the examples."""
    split: Split = "train"
    """Which stream; train and test are independent."""
    form: Form = "text"
    """The columns: tokens, text, or arrays for an encoder or a decoder."""
    padding: Padding = "right"
    """Side that encoder and decoder rows are padded on."""
    format: FileFormat = "jsonl"
    """Format of the files."""
    out: Path = Path("benchmark")
    """Folder to write TASK-SPLIT.FORMAT files to."""
    overwrite: bool = False
    """Replace files that exist."""

    def __call__(self) -> None:
        """Writes the files and prints their names."""
        lengths, layout = parsed_lengths(self.lengths), Layout(self.form, self.padding)
        files = {
            self.out / f"{task.name}-{self.split}.{self.format}": Examples(
                task, lengths, self.count, self.seed, self.split
            )
            for task in tasks_of(self.names)
        }
        refuse_existing(list(files), self.overwrite)
        for path, data in files.items():
            WRITERS[self.format](data, path, layout)
            print(path)


@dataclass(frozen=True)
class HarnessTasks:
    """Write tasks for lm-evaluation-harness: a YAML file each, and their examples."""

    names: tyro.conf.Positional[tuple[str, ...]] = ()
    """The tasks; by default the paper's fifteen."""
    lengths: str = "10-40:10,50-100:10"
    """Sampled lengths of the test: numbers and ranges."""
    count: int = 20
    """Test examples per length."""
    seed: int = 0
    """Seed of the examples."""
    training_length: int = 40
    """N: few-shot examples have at most this length; the score counts the lengths beyond it."""
    out: Path = Path("randpos_tasks")
    """Folder to write to; pass it to lm_eval as --include_path."""
    overwrite: bool = False
    """Replace files that exist."""

    def __call__(self) -> None:
        """Writes the files and prints the names of the YAML files."""
        check_count("training_length", self.training_length)
        lengths, tasks = parsed_lengths(self.lengths), tasks_of(self.names)
        refuse_existing([self.out / f"{PREFIX}{task.name}.yaml" for task in tasks], self.overwrite)
        tests = [Examples(task, lengths, self.count, self.seed, "test") for task in tasks]
        print(*write_tasks(self.out, tests, self.training_length), sep="\n")


@dataclass(frozen=True)
class References:
    """Test the reference models (guess, constant answer, oracle) and store their rows."""

    names: tyro.conf.Positional[tuple[str, ...]] = ()
    """The tasks; by default the paper's fifteen."""
    lengths: str = "1-500"
    """Sampled lengths: numbers and ranges. A score needs N + 1 and the longest."""
    count: int = 500
    """Examples per length."""
    training_length: int = 40
    """N: the score counts the lengths beyond it."""
    store: Path = Path("runs")
    """The store that the rows go to."""
    existing: Existing = "refuse"
    """Refuse if the store has such rows, resume with missing lengths, or replace them."""

    def __call__(self) -> None:
        """Tests the models and prints their scores."""
        lengths = parsed_lengths(self.lengths)
        for task in dict.fromkeys(self.names or PAPER_TASKS):
            for name, model in references(task).items():
                entry = Entry(self.store, name, steps=1, batch=1, existing=self.existing)
                result = evaluate(
                    model,
                    task,
                    lengths,
                    count=self.count,
                    training_length=self.training_length,
                    entry=entry,
                )
                print(f"{task} {name}: score {percent(result.score)}", flush=True)


def tasks_of(names: Sequence[str]) -> list[Task]:
    """Returns the tasks of these names, or the paper's fifteen if there are none."""
    return [get_task(name) for name in dict.fromkeys(names or PAPER_TASKS)]


def refuse_existing(paths: Sequence[Path], overwrite: bool) -> None:
    """Raises `UserError` if a file exists that must not be replaced."""
    for path in paths:
        if os.path.lexists(path) and not overwrite:
            raise UserError(f"{path} exists; pass --overwrite to replace it, or another --out.")

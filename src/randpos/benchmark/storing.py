"""Results of your own models in a store, where tables, figures and the page find them."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from randpos.errors import UserError, quoted, unknown
from randpos.experiment import Experiment
from randpos.facts import OWN_MODEL
from randpos.settings import Evaluation, Schedule
from randpos.store.accuracies import accuracies_path, read_accuracies, write_accuracies
from randpos.store.folder import RunFolder, Store
from randpos.store.result import Accuracy
from randpos.store.result import Result as Ending

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+-]{0,39}")
Existing = Literal["refuse", "resume", "replace"]


@dataclass(frozen=True)
class Entry:
    """The row of a store that a result becomes: the model's name, and how it was trained."""

    store: str | Path
    """The folder of the store."""
    name: str
    """Your name of the model; the store's encoding is `external:NAME`."""
    steps: int
    """Training steps; 1 if nothing was trained."""
    batch: int
    """Examples per training step."""
    learning_rate: float = 1.0
    """Learning rate, if you compare several."""
    seed: int = 0
    """Seed of your training. Tables show the best and the mean over seeds."""
    existing: Existing = "refuse"
    """What to do if the store has results of the same model: `refuse` to test it, `resume` with the
    lengths that are missing, or `replace` them."""

    def __post_init__(self) -> None:
        if self.existing not in get_args(Existing):
            raise unknown("value of existing", self.existing, get_args(Existing))
        if not NAME.fullmatch(self.name):
            raise UserError(
                f"name={quoted(self.name)} does not name a model; pass up to 40 letters, digits, "
                "blanks and . _ + -, such as my-net."
            )

    def experiment(
        self, task: str, test_length: int, training_length: int, evaluation: Evaluation
    ) -> Experiment:
        """Returns the experiment that identifies the row."""
        return Experiment(
            task=task,
            encoding=f"{OWN_MODEL}{self.name}",
            steps=self.steps,
            batch=self.batch,
            learning_rate=self.learning_rate,
            seed=self.seed,
            test_length=test_length,
            lengths=Schedule(maximum=training_length),
            evaluation=evaluation,
        )


class Recorder:
    """Writes the accuracies of one row, all of them anew after every length."""

    def __init__(self, folder: RunFolder, experiment: Experiment) -> None:
        self.folder, self.experiment = folder, experiment

    def measured(self) -> list[Accuracy]:
        """Returns the accuracies that the store has."""
        return read_accuracies(self.folder.path, self.experiment)

    def write(self, accuracies: Sequence[Accuracy]) -> None:
        """Replaces the accuracies of the row."""
        write_accuracies(self.folder.path, self.experiment, accuracies)

    def finish(self) -> None:
        """Marks the row complete; tables show complete rows only."""
        self.folder.finish(Ending("complete", self.experiment.steps, 0.0))


@contextlib.contextmanager
def recording(entry: Entry, experiment: Experiment) -> Iterator[Recorder]:
    """Locks the row of an experiment and gives its recorder.

    Raises:
        UserError: The row exists and `entry.existing` is `refuse`.
    """
    folder = Store(Path(entry.store)).run(experiment)
    lock = folder.lock()
    try:
        path = accuracies_path(folder.path, experiment)
        if path.exists() and entry.existing == "refuse":
            raise UserError(
                f"{entry.store} has results of {entry.name!r} on {experiment.task} with seed "
                f"{entry.seed}; pass existing='resume' or 'replace', or another name or seed."
            )
        folder.create(experiment)
        recorder = Recorder(folder, experiment)
        if path.exists() and entry.existing == "replace":
            recorder.write([])
        yield recorder
    finally:
        lock.release()

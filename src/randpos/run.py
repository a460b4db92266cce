"""Runs: train an experiment into a store, load its model, test it.

Here a tiny model learns to reverse up to four bits, from two seeds, and is tested at up to six:

>>> import randpos, tempfile
>>> experiment = randpos.Experiment(
...     task="reverse_string",
...     encoding="randomized-sincos",
...     steps=20,
...     batch=8,
...     test_length=6,
...     model=randpos.Architecture(layers=1, heads=2, dim=8, hidden=8),
...     lengths=randpos.Schedule("fixed", maximum=4),
... )
>>> with tempfile.TemporaryDirectory() as folder:
...     run = randpos.train(experiment, seeds=[0, 1], store=folder)
...     curves = run.evaluate(randpos.Evaluation(stride=3, batch=16))
...     model = run.model(member=1)
>>> [point.length for point in curves[0]]
[1, 3, 4, 5, 6]
>>> model.embedding.shape  # two bits, the placeholder and padding
(4, 8)
"""

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from randpos.errors import UserError, check_seconds
from randpos.experiment import Evaluation, Experiment
from randpos.nn.model import Encoder
from randpos.progress import View, open_view
from randpos.run_display import describe_run, describe_run_html, plot_run
from randpos.setup import choose_maximum, resolve
from randpos.store.accuracies import SCHEMA, read_accuracies
from randpos.store.folder import RunFolder, Store
from randpos.store.result import Accuracy
from randpos.training.engine import Engine
from randpos.training.evaluation import Evaluator
from randpos.training.loop import Progress, Strategy, train_members
from randpos.training.mean_accuracy import in_domain, score
from randpos.training.run_evaluation import evaluate_run, load_model, untested
from randpos.training.tracking import Name as TrackerName

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Run:
    """The trained members of an ensemble, as the store holds them.

    In a notebook it is shown as a table of its members with their scores.
    """

    folders: tuple[RunFolder, ...]

    def __repr__(self) -> str:
        return describe_run(self)

    def _repr_html_(self) -> str:
        return describe_run_html(self)

    def experiment(self, member: int = 0) -> Experiment:
        """Returns what a member was trained on."""
        return self.folders[member].experiment()

    def model(self, member: int = 0) -> Encoder:
        """Returns the trained model of a member."""
        return load_model(self.folders[member])

    def metrics(self, member: int = 0) -> list[dict[str, Any]]:
        """Returns step, loss and accuracy, one row per chunk of steps."""
        return self.folders[member].lines("metrics.jsonl")

    def evaluate(
        self,
        evaluation: Evaluation | None = None,
        report: Callable[[int, Accuracy], None] | None = None,
        max_length: int | None = None,
        progress: bool | View = True,
        evaluator: Evaluator | None = None,
    ) -> list[list[Accuracy]]:
        """Tests every member at every length that is not yet in the store.

        Args:
            evaluation: How densely; by default as the experiment says.
            report: Called with the member and each new accuracy.
            max_length: The longest length; by default the experiment's M. It may be longer, as far
                as the encoding permits: up to L tokens with randomized positions.
            progress: Show progress on a terminal or in a notebook.
            evaluator: Programs for the same experiment and evaluation that were compiled before.

        Returns:
            For each member, its accuracies by length; none for a member that diverged.
        """
        curves: list[list[Accuracy]] = []
        with open_view(progress) as view:
            if evaluator is not None:
                evaluator.compiling = view.compiling
            for member, folder in enumerate(self.folders):
                experiment = folder.experiment()
                if evaluation is not None:
                    experiment = dataclasses.replace(experiment, evaluation=evaluation)
                resolve(experiment)  # Raises errors before any work.
                evaluator = evaluator or Evaluator(experiment, view.compiling)

                def show_accuracy(
                    accuracy: Accuracy, member: int = member, experiment: Experiment = experiment
                ) -> None:
                    view.tested(experiment, accuracy)
                    if report is not None:
                        report(member, accuracy)

                with contextlib.ExitStack() as stack:
                    # Two processes that test one run would drop each other's lengths.
                    if untested(folder, experiment, max_length):
                        stack.callback(folder.lock().release)
                    found = evaluate_run(folder, experiment, evaluator, show_accuracy, max_length)
                    curves.append(found)
        return curves

    def score(
        self, member: int | None = None, evaluation: Evaluation | None = None
    ) -> float | None:
        """Returns the mean accuracy over the lengths N+1..M, if it has been evaluated up to M.

        Args:
            member: Which one; may be left out if there is only one.
            evaluation: How it was tested; by default as the experiment says.
        """
        experiment, found = self._tested(self._only(member, "score"), evaluation)
        return score(found, experiment.lengths.maximum, experiment.test_length)

    def in_domain(
        self, member: int | None = None, evaluation: Evaluation | None = None
    ) -> float | None:
        """Returns the mean accuracy over the lengths 1..N, if it has been evaluated up to N."""
        experiment, found = self._tested(self._only(member, "in_domain"), evaluation)
        return in_domain(found, experiment.lengths.maximum)

    def scores(self, evaluation: Evaluation | None = None) -> pl.DataFrame:
        """Returns a row per member: its run, seed, rate, status, score and in-domain accuracy.

        Args:
            evaluation: How the members were tested; by default as the experiment says.
        """
        rows = [
            {
                "run": folder.path.name,
                "seed": folder.experiment().seed,
                "learning_rate": folder.experiment().learning_rate,
                "status": folder.status(),
                "score": self.score(member, evaluation),
                "in_domain": self.in_domain(member, evaluation),
            }
            for member, folder in enumerate(self.folders)
        ]
        return pl.DataFrame(rows, schema_overrides={"score": pl.Float64, "in_domain": pl.Float64})

    def accuracies(self, evaluation: Evaluation | None = None) -> pl.DataFrame:
        """Returns a row per member and tested length; `.to_pandas()` makes it a pandas frame.

        Args:
            evaluation: How the members were tested; by default as the experiment says.
        """
        rows = [
            (experiment.seed, experiment.learning_rate, *accuracy)
            for experiment, found in (self._tested(i, evaluation) for i in range(len(self.folders)))
            for accuracy in found
        ]
        schema = {"seed": pl.Int64, "learning_rate": pl.Float64, **SCHEMA}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def plot(self, evaluation: Evaluation | None = None) -> "Figure":
        """Draws accuracy over length: the mean over seeds, and a band from the worst to the best.

        Only lengths that all tested seeds of a learning rate share are drawn.

        Args:
            evaluation: How the members were tested; by default as the experiment says.

        Returns:
            A Matplotlib figure.
        """
        return plot_run(self, evaluation)

    def _only(self, member: int | None, method: str) -> int:
        if member is None and len(self.folders) > 1:
            raise UserError(
                f"this run has {len(self.folders)} members; pass {method}(member=0), or call "
                "scores() for all of them."
            )
        return member or 0

    def _tested(
        self, member: int, evaluation: Evaluation | None
    ) -> tuple[Experiment, list[Accuracy]]:
        experiment = self.experiment(member)
        if evaluation is not None:
            experiment = dataclasses.replace(experiment, evaluation=evaluation)
        return experiment, read_accuracies(self.folders[member].path, experiment)


def train(
    experiment: Experiment,
    *,
    seeds: Sequence[int] | None = None,
    rates: Sequence[float] | None = None,
    store: str | Path = "runs",
    report: Callable[[Progress], None] | None = None,
    save_every: float = 60.0,
    track: Sequence[TrackerName] = (),
    strategy: Strategy | None = None,
    progress: bool | View = True,
) -> Run:
    """Trains an experiment, or an ensemble of it, continuing where an earlier call was stopped.

    Args:
        experiment: What to train.
        seeds: Train one member per seed; by default only the experiment's.
        rates: Train each seed with each of these learning rates.
        store: Folder that the runs are kept in.
        report: Called with each member's progress after every call of the program.
        save_every: Seconds between two checkpoints of a member.
        track: Trackers that metrics are sent to as well.
        strategy: Advance members one after the other (`map`, the default on a CPU, where it is as
            fast and bit-identical to training alone) or together (`vmap`, the default elsewhere).
        progress: Show progress on a terminal or in a notebook.

    Returns:
        The members in the order of seeds, then rates.
    """
    check_seconds("save_every", save_every)
    experiment = choose_maximum(experiment)
    members = [
        dataclasses.replace(experiment, seed=int(seed), learning_rate=float(rate))
        for seed in (seeds if seeds is not None else [experiment.seed])
        for rate in (rates if rates is not None else [experiment.learning_rate])
    ]
    if len({member.digest for member in members}) < len(members):
        raise UserError("seeds and rates must not repeat: two members would be the same run.")
    for member in members:
        resolve(member)  # Raises errors before any work.
    folders = tuple(Store(Path(store)).run(member) for member in members)
    with contextlib.ExitStack() as stack:
        for folder in folders:
            if folder.result() is None:
                stack.callback(folder.lock().release)
        view = stack.enter_context(open_view(progress))

        def show_progress(now: Progress) -> None:
            view(now)
            if report is not None:
                report(now)

        train_members(
            members,
            folders,
            Engine(members[0]),
            report=show_progress,
            save_every=save_every,
            track=track,
            strategy=strategy,
            compiling=view.compiling,
            ahead=True,
        )
    return Run(folders)

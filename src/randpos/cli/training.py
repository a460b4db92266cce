"""`randpos train` and `randpos evaluate`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from randpos.cli.display import Format, TrainingView, percent, plot, show
from randpos.experiment import PRESETS, Evaluation, Experiment, preset
from randpos.run import Run, train
from randpos.setup import resolve
from randpos.store.folder import Store
from randpos.store.result import Accuracy
from randpos.training.score import in_domain, score
from randpos.training.tracking import Name as TrackerName


def describe_budget(experiment: Experiment) -> str:
    """Returns how long an experiment trains and how far it is tested.

    >>> describe_budget(Experiment())
    '2,000,000 steps of 128, tested up to length 500'
    """
    steps, batch, longest = experiment.steps, experiment.batch, experiment.test_length
    return f"{steps:,} steps of {batch}, tested up to length {longest}"


def describe_budgets() -> str:
    """Returns every budget in words."""
    return "; ".join(f"{name}: {describe_budget(preset(name))}" for name in PRESETS)


@dataclass(frozen=True)
class Train:
    """Train one run, or an ensemble of seeds and learning rates, then test it.

    Stopped at any moment and started again with the same command, it continues where it was.
    """

    experiment: Annotated[Experiment, tyro.conf.arg(name="")]
    budget: Annotated[
        str,
        tyro.conf.arg(
            metavar=f"{{{','.join(PRESETS)}}}",
            help=f"The settings that the other defaults come from. {describe_budgets()}.",
        ),
    ] = "laptop"
    seeds: tuple[int, ...] = ()
    """Train one member per seed, instead of the single --seed."""
    rates: tuple[float, ...] = ()
    """Train each seed with each of these, instead of the single --learning-rate."""
    store: Path = Path("runs")
    """Folder that runs are kept in, each under the digest of its experiment."""
    save_every: float = 60.0
    """Seconds between two checkpoints."""
    track: tuple[TrackerName, ...] = ()
    """Send metrics to these trackers too."""
    evaluate: bool = True
    """Test the trained model at all lengths."""
    format: Format = "text"
    """How the result is printed."""

    def __call__(self) -> None:
        """Trains, tests and shows the result."""
        with TrainingView(Console(stderr=True)) as view:
            run = train(
                self.experiment,
                seeds=self.seeds or None,
                rates=self.rates or None,
                store=self.store,
                report=view,
                save_every=self.save_every,
                track=self.track,
            )
        if self.evaluate:
            show_run(run, self.experiment.evaluation, self.format)


@dataclass(frozen=True)
class Evaluate:
    """Test a trained run at lengths far beyond training; lengths already tested are kept."""

    run: tyro.conf.Positional[str]
    """A run's folder, or the beginning of its digest."""
    store: Path = Path("runs")
    """Where to look for a digest."""
    stride: int = 1
    """Test every stride-th length."""
    batch: int = 500
    """Examples per length."""
    max_length: int | None = None
    """Longest length to test; by default the run's M."""
    seed: int = 0
    """Seed of the test batches."""
    format: Format = "text"
    """How the result is printed."""

    def __call__(self) -> None:
        """Tests and shows the result."""
        run = Run((Store(self.store).find(self.run),))
        show_run(run, Evaluation(self.stride, self.batch, self.seed), self.format, self.max_length)


def show_run(run: Run, evaluation: Evaluation, form: Format, max_length: int | None = None) -> None:
    """Tests what is missing, and prints scores, accuracies and the curve over length."""
    console = Console(stderr=True)

    def report(member: int, accuracy: Accuracy) -> None:
        if console.is_terminal:
            text = f"testing member {member}: length {accuracy.length} {percent(accuracy.accuracy)}"
            console.print(text, end="\r", highlight=False)

    curves = run.evaluate(evaluation, report, max_length)
    if not any(curves):
        run.model()  # says why there is nothing to show
    rows, named = [], {}
    for number, curve in enumerate(curves):
        experiment = run.experiment(number)
        seen, last = experiment.lengths.maximum, experiment.test_length
        rows.append(
            {
                "run": run.folders[number].path.name,
                "task": experiment.task,
                "encoding": experiment.encoding,
                "seed": experiment.seed,
                "rate": experiment.learning_rate,
                "status": run.folders[number].status(),
                "score": score(curve, seen, last),
                "in_domain": in_domain(curve, seen),
            }
        )
        if curve:
            named[f"seed {experiment.seed}, rate {experiment.learning_rate:g}"] = curve
    if form == "json":
        show(
            [
                {**row, "accuracies": [accuracy._asdict() for accuracy in curve]}
                for row, curve in zip(rows, curves, strict=True)
            ],
            "json",
        )
        return
    experiment = run.experiment()
    steps, batch = f"{experiment.steps:,}", f"{evaluation.batch:,}"
    shares = {"score", "in_domain"}
    rows = [{k: percent(v) if k in shares else v for k, v in row.items()} for row in rows]
    title = f"{steps} steps of {experiment.batch}; {batch} examples per length"
    if max_length is not None and max_length < experiment.test_length:
        title += f" up to {max_length}; the score needs all up to M={experiment.test_length}"
    show(rows, "text", title)
    label, curve = next(iter(named.items()))
    lengths = [
        {
            "length": point.length,
            "accuracy %": percent(point.accuracy),
            "whole %": percent(point.whole),
        }
        for point in curve
    ]
    show(lengths[:: max(1, len(lengths) // 12)], "text", f"Accuracy by length, {label}")
    print(plot(named, experiment.lengths.maximum, resolve(experiment).task.chance))

"""`randpos train` and `randpos evaluate`.

What imports JAX is imported where it is used: help and wrong options are answered without it.
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console

from randpos.cli.display import Format, plot, show, show_lengths
from randpos.errors import UserError
from randpos.experiment import PRESETS, Evaluation, Experiment, preset
from randpos.store.folder import Store
from randpos.store.result import percent
from randpos.training.tracking import Name as TrackerName

if TYPE_CHECKING:
    from randpos.run import Run
    from randpos.training.evaluation import Evaluator
    from randpos.training.loop import Progress


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
        from randpos.progress import View
        from randpos.run import train
        from randpos.training.background import BackgroundTests

        console, tests = Console(stderr=True), BackgroundTests()

        def prepare_tests(progress: "Progress") -> None:
            if self.evaluate:
                tests.start(progress.experiment)

        try:
            run = train(
                self.experiment,
                seeds=self.seeds or None,
                rates=self.rates or None,
                store=self.store,
                report=prepare_tests,
                save_every=self.save_every,
                track=self.track,
                progress=View(console, note=self.note()),
            )
            if self.evaluate:
                show_run(run, self.experiment.evaluation, self.format, evaluator=tests.evaluator)
        finally:
            tests.stop()
        if self.format == "text":
            console.print(self.next_steps(run), highlight=False, markup=False, soft_wrap=True)

    def note(self) -> str:
        """Returns what is going to be trained, beside the paper's budget."""
        experiment = self.experiment
        budget, paper = describe_budget(experiment), describe_budget(Experiment())
        text = f"{experiment.task} with {experiment.encoding}: {budget} (budget {self.budget})."
        return text if budget == paper else f"{text} The paper's budget: {paper} (--budget paper)."

    def next_steps(self, run: "Run") -> str:
        """Returns where the run is, and two commands that read it."""
        from randpos.training.tested_lengths import check_longest, longest_possible

        where = "" if self.store == Path("runs") else f" --store {self.store}"
        paths = ", ".join(str(folder.path) for folder in run.folders)
        name = run.folders[0].path.name[:8]
        experiment = run.experiment()
        longer = min(2 * experiment.test_length, longest_possible(experiment))
        try:
            check_longest(experiment, longer)
        except UserError:  # A learned table ends at M.
            longer = experiment.test_length
        return (
            f"Kept in {paths}. Next:\n"
            f"  randpos runs show {name}{where}\n"
            f"  randpos evaluate {name}{where} --stride 10 --max-length {longer}"
        )


@dataclass(frozen=True)
class Evaluate:
    """Test a trained run at lengths far beyond training; lengths already tested are kept."""

    run: tyro.conf.Positional[str]
    """A run's folder, or the beginning of its digest."""
    store: Path = Path("runs")
    """Where to look for a digest."""
    stride: int | None = None
    """Test one length in every so many; by default as the run was tested."""
    batch: int | None = None
    """Examples per length; by default as the run was tested."""
    max_length: int | None = None
    """Longest length to test; by default the run's M. It may be longer, as far as the encoding
    permits: up to L tokens with randomized positions."""
    seed: int | None = None
    """Seed of the test batches; by default as the run was tested."""
    draws: int | None = None
    """Draws of positions per length, which share its examples; by default as the run was tested.
    0: one at stride 1, else one per 32 examples."""
    format: Format = "text"
    """How the result is printed."""

    def __call__(self) -> None:
        """Tests and shows the result."""
        from randpos.run import Run

        run = Run((Store(self.store).find(self.run),))
        names = ("stride", "batch", "seed", "draws")
        asked = {name: getattr(self, name) for name in names}
        changes = {name: value for name, value in asked.items() if value is not None}
        evaluation = dataclasses.replace(run.experiment().evaluation, **changes)
        show_run(run, evaluation, self.format, self.max_length)


def show_run(
    run: "Run",
    evaluation: Evaluation,
    form: Format,
    max_length: int | None = None,
    evaluator: "Evaluator | None" = None,
) -> None:
    """Tests what is missing, and prints scores, accuracies and the curve over length."""
    from randpos.progress import View, member_name
    from randpos.setup import resolve
    from randpos.training.mean_accuracy import in_domain, score

    view = View(Console(stderr=True))
    curves = run.evaluate(evaluation, max_length=max_length, progress=view, evaluator=evaluator)
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
            named[member_name(experiment)] = curve
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
    show_lengths(curve, f"Accuracy by length, {label}")
    print(plot(named, experiment.lengths.maximum, resolve(experiment).task.chance))

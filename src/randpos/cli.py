"""The command line: parses, calls, prints. Bad input gets one sentence and exit code 2."""

import contextlib
import io
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import numpy as np
import tyro
from rich.console import Console

from randpos import __version__
from randpos.combinations import combinations
from randpos.compilation import enable_cache
from randpos.config import PRESETS, Evaluation, Experiment, preset
from randpos.display import Format, TrainingView, percent, plot, show
from randpos.errors import UserError, unknown
from randpos.evaluation import Accuracy, in_domain, score
from randpos.export import export_torch
from randpos.runs import Run, train
from randpos.store import Store
from randpos.tasks import get_task
from randpos.tasks.render import examples, table
from randpos.tasks.render import show as show_examples
from randpos.tracking import Name as TrackerName


@dataclass(frozen=True)
class Train:
    """Train one run, or an ensemble of seeds and learning rates, then test it.

    Stopped at any moment and started again with the same command, it continues where it was.
    """

    experiment: Annotated[Experiment, tyro.conf.arg(name="")]
    preset: Literal["smoke", "laptop", "paper"] = "paper"
    """The budget that the other defaults come from: seconds, minutes, or the paper's."""
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
        if out.exists() and not self.overwrite:
            raise UserError(f"{out} exists; pass --overwrite to replace it, or another --out.")
        export_torch(run.model(), out)
        print(out)


COMMANDS: dict[str, Callable[..., Any]] = {
    "train": Train,
    "evaluate": Evaluate,
    "tasks": Tasks,
    "encodings": Encodings,
    "export": Export,
}


def encoding_row(name: str) -> dict[str, Any]:
    """Returns the facts of a combination."""
    combination = combinations()[name]
    shapes, _ = Experiment(task="reverse_string", encoding=name).skeleton()
    return {
        "name": name,
        "description": combination.description,
        "paper_row": combination.paper_row,
        "parameters": sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(shapes)),
    }


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
        seen = experiment.lengths.maximum
        rows.append(
            {
                "run": run.folders[number].path.name,
                "task": experiment.task,
                "encoding": experiment.encoding,
                "seed": experiment.seed,
                "rate": experiment.learning_rate,
                "status": (run.folders[number].result() or {}).get("status"),
                "score": score(curve, seen),
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
    show(rows, "text", f"{steps} steps of {experiment.batch}; {batch} examples per length")
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
    print(plot(named, experiment.lengths.maximum, experiment.problem.chance))


def parse(arguments: Sequence[str]) -> Callable[[], None]:
    """Turns a command line into a command that is ready to run."""
    name, *rest = arguments
    if name not in COMMANDS:
        raise unknown("command", name, COMMANDS)
    options: dict[str, Any] = {"args": rest, "prog": f"randpos {name}"}
    if name == "train":
        chosen: Any = _preset_of(rest)
        options["default"] = Train(experiment=preset(chosen), preset=chosen)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(COMMANDS[name], **options)
    except SystemExit as stop:
        if not stop.code:
            raise
        raise UserError(_sentence(said.getvalue(), name)) from stop


def _preset_of(arguments: Sequence[str]) -> str:
    """Finds --preset before the parser runs: it decides the defaults that the parser shows."""
    for flag, value in zip(arguments, [*arguments, ""][1:], strict=True):
        if flag == "--preset" or flag.startswith("--preset="):
            chosen = value if flag == "--preset" else flag.partition("=")[2]
            if chosen not in PRESETS:
                raise unknown("preset", chosen, PRESETS)
            return chosen
    return "paper"


def _sentence(text: str, command: str) -> str:
    """Makes one sentence of what the parser prints in a box."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    words = " ".join(re.sub(r"[╭╮╰╯│─]+|-{3,}", " ", plain).split())
    for noise in (
        r"^(Parsing error|Value error|Invalid choice|Required options|Unrecognized options) ",
        r"^Error parsing experiment\.?[a-z.]*: ",
        r"(Argument helptext:|For full helptext).*$",
    ):
        words = re.sub(noise, "", words).strip().rstrip(".")
    return f"{words or 'the arguments could not be read'}; see randpos {command} --help."


def usage() -> str:
    """Lists the commands."""
    lines = [
        f"  {name:<10} {(command.__doc__ or '').splitlines()[0]}"
        for name, command in COMMANDS.items()
    ]
    return "\n".join(
        [
            f"randpos {__version__}: randomized positional encodings for length generalization.",
            "",
            "usage: randpos COMMAND [OPTIONS]",
            "",
            *lines,
            "",
            "randpos COMMAND --help tells all options of a command.",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal cannot show, it shows as ?
            stream.reconfigure(errors="replace")
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0
    if arguments[0] == "--version":
        print(__version__)
        return 0
    warnings.showwarning = lambda message, *_: print(f"randpos: {message}", file=sys.stderr)
    try:
        enable_cache()
        parse(arguments)()
    except UserError as error:
        print(f"randpos: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("randpos: stopped; run the same command again to continue.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The commands by name: where each is defined, what it does in one line, and two examples.

This is data: listing the commands imports none of them, and no JAX.
"""

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from randpos import __version__


class Command(NamedTuple):
    """A command, not yet imported."""

    place: str
    """The module below `randpos.cli` and the class in it."""
    summary: str
    examples: tuple[str, str]
    compiles: bool = True
    """Whether it may compile programs, which are kept in a cache."""

    def load(self) -> Callable[..., Any]:
        """Imports the class."""
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(f"randpos.cli.{module}"), name)


COMMANDS = {
    "train": Command(
        "training:Train",
        "Train one run, or an ensemble of seeds and learning rates, then test it.",
        (
            "train --task bucket_sort --encoding randomized-sincos",
            "train --task missing_duplicate --budget smoke --seeds 0 1",
        ),
    ),
    "evaluate": Command(
        "training:Evaluate",
        "Test a trained run at lengths far beyond training.",
        ("evaluate 3f2a --max-length 1000", "evaluate runs/3f2a5c0d9e8b7a61 --stride 10"),
    ),
    "sweep": Command(
        "sweeping:Sweep",
        "Train and test all runs of a table or figure, or of a grid file, that the store lacks.",
        ("sweep table1 --tasks bucket_sort --dry-run", "sweep grid.toml"),
    ),
    "reproduce": Command(
        "reporting:Reproduce",
        "Run what is missing of a table or figure, then write it beside the paper's.",
        (
            "reproduce curves --budget laptop --tasks bucket_sort",
            "reproduce table1 --budget smoke --tasks even_pairs --encodings rope randomized-rope",
        ),
    ),
    "report": Command(
        "reporting:Report",
        "Write a store's report: one HTML page with all tables, curves, figures and runs.",
        ("report runs --out report.html", "report runs --serve"),
    ),
    "table": Command(
        "tables:Tables",
        "Print a table of the paper with our numbers beside the published ones.",
        ("table table1 --store results --show ours paper", "table table1 --format latex"),
        compiles=False,
    ),
    "figure": Command(
        "reporting:Figures",
        "Draw a figure of the paper from a store, as PNG, SVG and PDF.",
        ("figure overview", "figure curves --store results --tasks bucket_sort"),
    ),
    "playground": Command(
        "playground:Playground",
        "Write a page that runs trained models in the browser: one file, no server.",
        ("playground --store results", "playground 3f2a --out model.html"),
    ),
    "runs": Command(
        "runs:Runs",
        "List the runs of a store with scores, `show` one, `prune` some, or `pack` their results.",
        ("runs list --task bucket_sort", "runs show 3f2a"),
        compiles=False,
    ),
    "tasks": Command(
        "listing:Tasks",
        "List the tasks, or `show` examples of one.",
        ("tasks", "tasks show missing_duplicate --length 12"),
        compiles=False,
    ),
    "tasks export": Command(
        "benchmarking:ExportTasks",
        "Write examples of tasks to files, for models of any framework.",
        (
            "tasks export reverse_string --lengths 1-40 --count 1000",
            "tasks export --split test --lengths 50-500:50 --form decoder",
        ),
    ),
    "tasks harness": Command(
        "benchmarking:HarnessTasks",
        "Write tasks for lm-evaluation-harness: a YAML file each, and their examples.",
        ("tasks harness", "tasks harness reverse_string odds_first --lengths 10-100:10"),
    ),
    "benchmark references": Command(
        "benchmarking:References",
        "Test the reference models (guess, constant answer, oracle) and store their rows.",
        (
            "benchmark references --store runs",
            "benchmark references bucket_sort --lengths 1,40,41,60-200:20 --count 100",
        ),
    ),
    "benchmark leaderboard": Command(
        "leaderboard:Leaderboard",
        "Print the models of stores by their mean score, as a Markdown table.",
        ("benchmark leaderboard results", "benchmark leaderboard runs --out board.md"),
        compiles=False,
    ),
    "encodings": Command(
        "listing:Encodings",
        "List the encodings; each exists with every scheme of positions.",
        ("encodings", "encodings --format json"),
        compiles=False,
    ),
    "export": Command(
        "listing:Export",
        "Write a trained run's model to a file for another framework.",
        ("export 3f2a", "export 3f2a --out model.safetensors"),
    ),
}


def usage() -> str:
    """Lists the commands."""
    return "\n".join(
        [
            f"randpos {__version__}: randomized positional encodings for length generalization.",
            "",
            "usage: randpos COMMAND [OPTIONS]",
            "",
            *(f"  {name:<22} {command.summary}" for name, command in COMMANDS.items()),
            "",
            "randpos COMMAND --help lists the options of a command, with examples.",
        ]
    )

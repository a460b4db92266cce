"""The registry of artifacts: every table and figure, and the runs that it is made of.

One entry here is all that the command line, the report page and docs/results.md need.
"""

from randpos.facts import PAPER_COMBINATIONS, tasks
from randpos.paper.base import Artifact, Runs

BEYOND = ("Decoders", "Open questions")
"""Sections of what the paper does not have; `all` experiments leave them out."""

PAPER_TASKS = [name for name, facts in tasks().items() if facts.in_paper]
TABLE_1 = [name for name in PAPER_COMBINATIONS if name not in ("geometric", "unsorted-sincos")]
"""The 11 combinations of Table 1."""


def _rows(name: str, encodings: list[str]) -> tuple[Runs, ...]:
    return (Runs(name, {}, {"task": PAPER_TASKS, "encoding": encodings}),)


OTHER_TASKS = ("scan", "listops")
"""Tasks of other benchmarks, of which the paper names some; each has its own N and M."""
RATIOS = ["1x", "1.25x", "2x", "4x", "8x", "16x", "40x"]
"""L as multiples of the tokens of the longest tested sequence."""
DECODERS = {"answers": "autoregressive"}
_MAIN = _rows("table1", TABLE_1)
_RELATIVE = {"encoding": "randomized-relative"}
_TWO_TASKS = {"task": ["reverse_string", "missing_duplicate"]}
_INSPECTED = {"encoding": ["relative", "randomized-relative"]}

_ARTIFACTS = [
    Artifact("table1", "Scores of all encodings", "Scores", _MAIN, "encodings:scores"),
    Artifact("gains", "Gain by randomized positions", "Scores", _MAIN, "comparisons:gains"),
    Artifact("curves", "Accuracy over length", "Curves", _MAIN, figure="curves:curves_of_store"),
    Artifact("table-means", "Means over seeds", "Means", _MAIN, "encodings:means"),
    Artifact(
        "comparison",
        "Randomized against plain, seed by seed",
        "Statistics",
        _MAIN,
        "comparisons:comparison",
    ),
    Artifact("intervals", "Intervals of the means", "Statistics", _MAIN, "comparisons:intervals"),
    Artifact(
        "running-times",
        "Hours, scaled to the paper's number of steps",
        "Running times",
        _MAIN,
        "encodings:running_times",
    ),
    Artifact(
        "running-times-measured",
        "Hours of training",
        "Running times",
        _MAIN,
        "encodings:measured_times",
    ),
    Artifact(
        "ablation-sorting",
        "Without sorting",
        "Ablations",
        _rows("ablation-sorting", ["unsorted-sincos", "randomized-sincos"]),
        "encodings:sorting",
    ),
    Artifact(
        "geometric",
        "Geometric attention",
        "Ablations",
        _rows("geometric", ["geometric", *(n for n in TABLE_1 if n.startswith("randomized"))]),
        "encodings:geometric",
    ),
    Artifact(
        "max-position",
        "The largest position L",
        "Ablations",
        (
            Runs(
                "max-position",
                _RELATIVE,
                {**_TWO_TASKS, "positions.maximum": [1024, 2048, 4096, 8192]},
            ),
        ),
        "sweeps:max_position",
        "positions:max_position_of_store",
        compares_settings=True,
    ),
    Artifact(
        "readings",
        "What a random offset may mean",
        "Ablations",
        (
            Runs(
                "readings",
                _RELATIVE,
                {
                    **_TWO_TASKS,
                    "positions.reading": ["positions", "distances", "released"],
                    "positions.draw": ["per_batch", "per_layer"],
                },
            ),
            Runs(
                "readings",
                {"encoding": "randomized-alibi"},
                {**_TWO_TASKS, "positions.reading": ["distances", "positions"]},
            ),
        ),
        "sweeps:readings",
        compares_settings=True,
    ),
    Artifact(
        "efficiency",
        "Training on short sequences against training on long ones",
        "Analysis",
        (
            Runs(
                "efficiency",
                {"task": "missing_duplicate", "encoding": "relative", "lengths.maximum": 500},
            ),
            Runs("efficiency", {"task": "missing_duplicate", **_RELATIVE}),
        ),
        figure="efficiency:efficiency_of_store",
    ),
    Artifact(
        "pca",
        "Activations at the training length and beyond",
        "Analysis",
        (Runs("pca", {"task": "reverse_string"}, _INSPECTED),),
        figure="pca:pca_of_store",
    ),
    Artifact(
        "attention",
        "Attention at the training length and beyond",
        "Analysis",
        (Runs("attention", {"task": "reverse_string"}, _INSPECTED),),
        figure="attention:attention_of_store",
    ),
    Artifact(
        "other-tasks",
        "Tasks that the paper names and does not have",
        "Open questions",
        (
            Runs(
                "other-tasks",
                {"task": "scan", "lengths.maximum": 22, "test_length": 48},
                {"encoding": TABLE_1},
            ),
            Runs("other-tasks", {"task": "listops"}, {"encoding": TABLE_1}),
        ),
        "questions:other_tasks",
        compares_settings=True,
    ),
    Artifact(
        "choose-L",
        "How large L should be, with and without dropout",
        "Open questions",
        (
            Runs(
                "choose-L",
                {},
                {
                    "task": ["missing_duplicate", "even_pairs", "bucket_sort"],
                    "encoding": ["randomized-relative", "randomized-sincos"],
                    "positions.maximum": RATIOS,
                },
            ),
            Runs(
                "choose-L",
                {"task": "missing_duplicate", **_RELATIVE},
                {"model.dropout": [0.0, 0.1], "positions.maximum": ["2x", "40x"]},
            ),
        ),
        "questions:choose_maximum",
        "questions:choose_maximum_of_store",
        compares_settings=True,
    ),
    Artifact(
        "draws",
        "A draw of positions per batch or per example",
        "Open questions",
        (
            Runs(
                "draws",
                _RELATIVE,
                {
                    "task": ["missing_duplicate", "bucket_sort"],
                    "positions.draw": ["per_batch", "per_example"],
                },
            ),
        ),
        "questions:draws",
        "questions:draws_of_store",
        compares_settings=True,
    ),
    Artifact(
        "peaked",
        "Attention that stays peaked",
        "Open questions",
        (
            Runs(
                "peaked",
                {},
                {
                    "task": ["missing_duplicate", "even_pairs"],
                    **_INSPECTED,
                    "model.attention_scale": ["constant", "log"],
                },
            ),
        ),
        "questions:peaked",
        "questions:peaked_of_store",
        compares_settings=True,
    ),
    Artifact(
        "decoder",
        "Answers token by token",
        "Decoders",
        (Runs("decoder", DECODERS, {"task": PAPER_TASKS, "encoding": TABLE_1}),),
        "decoders:decoder",
        "decoders:decoder_of_store",
        compares_settings=True,
    ),
    Artifact(
        "addition",
        "Adding longer numbers than in training",
        "Decoders",
        (
            Runs(
                "addition",
                {**DECODERS, "lengths.maximum": 10, "test_length": 30},
                {
                    "task": ["addition", "addition_reversed", "addition_reversed_hints"],
                    "encoding": [
                        "none",
                        *("rope", "alibi", "fire"),
                        *("randomized-rope", "randomized-alibi", "randomized-fire"),
                    ],
                },
            ),
        ),
        "decoders:addition",
        "decoders:addition_of_store",
        compares_settings=True,
    ),
    Artifact("overview", "The method", "Analysis", figure="overview:overview"),
]

ARTIFACTS = {artifact.name: artifact for artifact in _ARTIFACTS}
"""All tables and figures by name, in the order of the report."""


def experiments() -> dict[str, Artifact]:
    """Returns the artifacts that are made of runs: what `sweep` and `reproduce` take."""
    return {name: artifact for name, artifact in ARTIFACTS.items() if artifact.runs}


def paper_experiments() -> dict[str, Artifact]:
    """Returns the artifacts of runs that the paper has: `all` stands for these."""
    return {n: artifact for n, artifact in experiments().items() if artifact.section not in BEYOND}


def tables() -> dict[str, Artifact]:
    """Returns the artifacts that are tables."""
    return {name: artifact for name, artifact in ARTIFACTS.items() if artifact.table}


def figures() -> dict[str, Artifact]:
    """Returns the artifacts that are figures."""
    return {name: artifact for name, artifact in ARTIFACTS.items() if artifact.figure}

"""Tasks for EleutherAI's lm-evaluation-harness: a YAML file per task, beside its examples.

    randpos tasks export --format harness --out randpos_tasks
    lm_eval --include_path randpos_tasks --tasks randpos_reverse_string --num_fewshot 8 ...

The harness prompts with text such as `0 1 1 =` and generates until the end of the line. Few-shot
examples come from the split `train`. The metrics are those of the benchmark: `score` (lengths
beyond N), `in_domain` (lengths up to N), each a mean over lengths, and `whole`.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from randpos.benchmark.export import write_jsonl
from randpos.benchmark.formats import Layout
from randpos.benchmark.sampling import Examples
from randpos.store.files import write_atomic
from randpos.store.result import Accuracy
from randpos.tasks.base import Task
from randpos.training.mean_accuracy import mean_where_tested

PREFIX = "randpos_"
METRICS = ("score", "in_domain", "whole")
MODULE = "randpos_metrics"
FUNCTIONS = '''"""The metrics of the randpos tasks, which the YAML files name."""

from randpos.benchmark import harness

process_results = harness.process_results
whole = harness.whole


def score(items):
    """Mean accuracy over the lengths beyond {training_length}."""
    return harness.score(items, {training_length})


def in_domain(items):
    """Mean accuracy over the lengths up to {training_length}."""
    return harness.in_domain(items, {training_length})
'''
LONGEST_ANSWER = 4
"""Most generated tokens per symbol and space: tokenizers may split both."""


class Counts(NamedTuple):
    """The result of one example."""

    length: int
    right: int
    """Right symbols of the answer."""
    counted: int
    """Symbols of the answer."""


def write_tasks(folder: Path, tests: Sequence[Examples], training_length: int = 40) -> list[Path]:
    """Writes the YAML file and the examples of each task; returns the YAML files.

    Args:
        folder: Where to write; pass it to the harness as `--include_path`.
        tests: The test examples of each task.
        training_length: N: few-shot examples have at most this length, and the score counts the
            lengths beyond it.
    """
    written = []
    functions = FUNCTIONS.format(training_length=training_length)
    write_atomic(folder / f"{MODULE}.py", functions.encode())
    for test in tests:
        name = test.task.name
        shots = Examples(test.task, tuple(range(1, training_length + 1)), 4, test.seed, "train")
        files = {"train": shots, "test": test}
        for split, data in files.items():
            write_jsonl(data, folder / f"{name}-{split}.jsonl", Layout("text"))
        path = folder / f"{PREFIX}{name}.yaml"
        settings = _settings(test.task, folder.resolve(), max(test.lengths), training_length)
        write_atomic(path, _yaml(settings).encode())
        written.append(path)
    return written


def _settings(task: Task, folder: Path, longest: int, training_length: int) -> dict[str, Any]:
    answers = {split: str(folder / f"{task.name}-{split}.jsonl") for split in ("train", "test")}
    return {
        "task": f"{PREFIX}{task.name}",
        "tag": "randpos",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": answers},
        "test_split": "test",
        "fewshot_split": "train",
        "output_type": "generate_until",
        "doc_to_text": "{{prompt}}",
        "doc_to_target": "{{answer}}",
        "target_delimiter": " ",
        "fewshot_delimiter": "\n",
        "generation_kwargs": {
            "until": ["\n"],
            "do_sample": False,
            "max_gen_toks": LONGEST_ANSWER * int(task.output_length(longest)),
        },
        "process_results": f"!function {MODULE}.process_results",
        "metric_list": [
            {
                "metric": metric,
                "aggregation": f"!function {MODULE}.{metric}",
                "higher_is_better": True,
            }
            for metric in METRICS
        ],
        "metadata": {"version": 1.0, "training_length": training_length},
    }


def _yaml(settings: dict[str, Any]) -> str:
    """Writes YAML: JSON is YAML, but for the tags of functions, which must not be quoted."""
    lines = []
    for name, value in settings.items():
        text = json.dumps(value, ensure_ascii=False)
        for function in ("process_results", *METRICS):
            tag = f"!function {MODULE}.{function}"
            text = text.replace(f'"{tag}"', tag)
        lines.append(f"{name}: {text}")
    return "\n".join(lines) + "\n"


def process_results(doc: dict[str, Any], results: Sequence[str]) -> dict[str, Counts]:
    """Compares a generated answer with the true one, symbol by symbol.

    Symbols are the characters that are not blank. A missing symbol is wrong; symbols after the
    true answer's end do not count.
    """
    wanted, found = doc["answer"].split(), "".join(results[0].split())
    right = sum(a == b for a, b in zip(wanted, found, strict=False))
    return dict.fromkeys(METRICS, Counts(doc["length"], right, len(wanted)))


def accuracies(items: Sequence[Counts]) -> list[Accuracy]:
    """Returns the accuracy of each length."""
    table = pl.DataFrame(items, schema=list(Counts._fields), orient="row")
    right, counted = pl.col("right"), pl.col("counted")
    share = right.sum() / counted.sum()
    by_length = (
        table.group_by("length").agg(accuracy=share, whole=(right == counted).mean()).sort("length")
    )
    return [Accuracy(*row) for row in by_length.iter_rows()]


def score(items: Sequence[Counts], training_length: int) -> float:
    """Returns the paper's score; NaN if no length beyond N was tested."""
    found = mean_where_tested(accuracies(items), training_length + 1)
    return math.nan if found is None else found


def in_domain(items: Sequence[Counts], training_length: int) -> float:
    """Returns the mean accuracy up to N; NaN if no such length was tested."""
    found = mean_where_tested(accuracies(items), 1, training_length)
    return math.nan if found is None else found


def whole(items: Sequence[Counts]) -> float:
    """Returns the share of answers without a mistake."""
    return sum(item.right == item.counted for item in items) / len(items)

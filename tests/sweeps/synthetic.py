"""Stores whose runs were never trained: what they hold is known."""

import itertools
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from randpos import Accuracy, Experiment
from randpos.store.accuracies import (
    SCHEMA,
    WAY,
    accuracies_path,
    way_of_testing,
    write_accuracies,
)
from randpos.store.folder import RunFolder, Store
from randpos.store.result import CurvePoint, Result, Status
from randpos.training.tested_lengths import lengths_to_test

CURVE = tuple(CurvePoint(100 * (i + 1), 1 / (i + 1), i / 50) for i in range(50))


def accuracies(seed: int, lengths: Sequence[int]) -> list[Accuracy]:
    """Made-up accuracies that differ from run to run and from length to length."""
    return [Accuracy(n, (seed + 1) / (n + seed + 1), 1 / (n + 1)) for n in lengths]


def write_run(
    store: Path,
    experiment: Experiment,
    status: Status = "complete",
    lengths: Sequence[int] | None = None,
    reason: str | None = None,
) -> RunFolder:
    """Writes a run that has the given status, tested at its own lengths or at these."""
    folder = Store(store).run(experiment)
    folder.create(experiment)
    if status == "complete" or status == "diverged":
        folder.finish(Result(status, experiment.steps, 1.5, CURVE))
    if status == "complete":
        tested = lengths_to_test(experiment) if lengths is None else lengths
        if tested:
            write_accuracies(folder.path, experiment, accuracies(experiment.seed, tested))
    if reason is not None:
        folder.fail(reason)
    return folder


def write_many(store: Path, count: int) -> None:
    """Writes complete runs of the paper's protocol, tested at all 500 lengths, and fast.

    Of every seed there are six: two tasks at three rates.
    """
    kinds = list(itertools.product(("reverse_string", "even_pairs"), (1e-4, 3e-4, 5e-4)))
    sample = write_run(store, Experiment(encoding="none"))
    others = {
        name: (sample.path / name).read_bytes() for name in ("environment.json", "result.json")
    }
    shutil.rmtree(sample.path)
    tested = b""
    for number in range(count):
        seed, (task, rate) = number // len(kinds), kinds[number % len(kinds)]
        experiment = Experiment(task=task, encoding="rope", seed=seed, learning_rate=rate)
        folder = store / experiment.digest
        path = accuracies_path(folder, experiment)
        path.parent.mkdir(parents=True)
        config = {"format": 1, "digest": experiment.digest, "experiment": experiment.to_dict()}
        (folder / "config.json").write_text(json.dumps(config))
        for name, content in others.items():
            (folder / name).write_bytes(content)
        if number % len(kinds) == 0:
            rows = pl.DataFrame(accuracies(seed, range(1, 501)), schema=SCHEMA, orient="row")
            values = way_of_testing(experiment)
            way = {name: pl.lit(value, WAY[name]) for name, value in values.items()}
            rows.with_columns(**way).write_parquet(path)
            tested = path.read_bytes()
        path.write_bytes(tested)


if __name__ == "__main__":
    write_many(Path(sys.argv[1]), int(sys.argv[2]))

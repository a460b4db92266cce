"""Stores that were never trained: runs with made-up accuracies, from real experiments."""

import json
import math
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from randpos import Experiment
from randpos.store.rows import settings_columns
from randpos.store.tables import ACCURACIES, RUNS, StoreTables

Row = tuple[Experiment, Sequence[tuple[int, float]], float]
"""A run: its experiment, its accuracies by length, and its seconds."""


def records(
    rows: Iterable[Row], *, status: str = "complete", curve: Sequence[Sequence[float]] = ()
) -> StoreTables:
    """The tables of a store that holds these runs."""
    runs, accuracies = [], []
    for experiment, points, seconds in rows:
        run = experiment.digest
        runs.append(
            {
                **settings_columns(experiment),
                "status": status,
                "step": experiment.steps,
                "seconds": seconds,
                "reason": None,
                "environment": "{}",
                "curve": json.dumps(list(curve)),
            }
        )
        way = experiment.evaluation
        accuracies += [
            {
                "run": run,
                "length": n,
                "accuracy": value,
                "whole": value,
                "batch": way.batch,
                "seed": way.seed,
                "draws": 1,
            }
            for n, value in points
        ]
    return StoreTables(
        pl.DataFrame(runs, schema=RUNS),
        pl.DataFrame(accuracies, schema=ACCURACIES),
    )


def join(*parts: StoreTables) -> StoreTables:
    """One store of several."""
    return StoreTables(pl.concat([p.runs for p in parts]), pl.concat([p.accuracies for p in parts]))


def falling(
    lengths: Iterable[int], target: float, chance: float, noise: np.random.Generator
) -> list[tuple[int, float]]:
    """Accuracies that are good up to 40, and fall to chance so that their mean is near a score."""
    high = max(target + 0.02, min(0.99, 0.75 + target / 4))
    share = min(max((target - chance) / (high - chance), 0.02), 0.98)
    scale = 40 + 460 * share / max(1 - share, 0.05) / 2
    return [
        (
            n,
            float(
                np.clip(
                    chance
                    + (high - chance) * (1.0 if n <= 40 else math.exp(-(n - 40) / scale))
                    + noise.normal(0, 0.012),
                    0,
                    1,
                )
            ),
        )
        for n in lengths
    ]

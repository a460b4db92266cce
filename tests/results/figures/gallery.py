"""One figure of every kind, from made-up but plausible data."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from randpos import Evaluation, Experiment, PositionOptions, Schedule
from randpos.catalog import PAPER_COMBINATIONS, combinations
from randpos.paper.published import published_value
from randpos.results.figures import (
    attention,
    curves,
    efficiency_of_store,
    max_position,
    overview,
    pca,
)
from randpos.results.inspect.activations import Activations, Layer
from randpos.results.inspect.attention import Attention
from randpos.store.tables import StoreTables
from randpos.tasks import PAPER_TASKS
from randpos.training.tested_lengths import lengths_to_test
from tests.results.figures.synthetic import falling, join, records

BASE = Experiment(evaluation=Evaluation(stride=20))


@functools.cache
def main_store() -> StoreTables:
    """All tasks and encodings of the paper, two seeds each, with about the paper's scores."""
    rng, rows = np.random.default_rng(0), []
    for task in PAPER_TASKS:
        for encoding in PAPER_COMBINATIONS:
            target = published_value("scores", task, encoding) or 50.0
            for seed in (0, 1):
                run = dataclasses.replace(BASE, task=task, encoding=encoding, seed=seed)
                goal = target / 100 * (1 - 0.04 * seed)
                rows.append(
                    (run, falling(lengths_to_test(run), goal, PAPER_TASKS[task].chance, rng), 1.0)
                )
    return records(rows)


def crowded_store() -> StoreTables:
    """Every encoding there is, on one task."""
    runs = [dataclasses.replace(BASE, encoding=name) for name in combinations()]
    return records((run, [(n, 0.5) for n in lengths_to_test(run)], 1.0) for run in runs)


def sweep_store() -> StoreTables:
    """Four values of L on two tasks, three seeds each."""
    rng, rows = np.random.default_rng(0), []
    for task in ("reverse_string", "missing_duplicate"):
        for maximum in (1024, 2048, 4096, 8192):
            for seed in range(3):
                where = PositionOptions(maximum=maximum)
                run = dataclasses.replace(BASE, task=task, seed=seed, positions=where)
                points = falling(lengths_to_test(run), 0.95 - 0.03 * seed, 0.5, rng)
                rows.append((run, points, 1.0))
    return records(rows)


def efficiency_store() -> StoreTables:
    """Both ways to train, with four budgets each."""
    parts = []
    for encoding, longest, speed in (("randomized-relative", 40, 168.4), ("relative", 500, 22.1)):
        for steps in (20_000, 100_000, 500_000, 2_000_000):
            run = dataclasses.replace(
                BASE,
                task="missing_duplicate",
                encoding=encoding,
                steps=steps,
                lengths=Schedule("uniform", longest),
            )
            grown = [(s, 0.5 + 0.5 * s / (s + 5e4)) for s in np.linspace(steps / 9, steps, 9)]
            points = [(n, grown[-1][1]) for n in lengths_to_test(run)]
            curve = [[float(step), 0.1, value] for step, value in grown]
            parts.append(records([(run, points, steps / speed)], curve=curve))
    return join(*parts)


def activations() -> list[Activations]:
    """Two models of five layers."""
    rng = np.random.default_rng(0)

    def layer(number: int) -> Layer:
        name = f"Layer {number}" if number else "Embeddings"
        short, long = (rng.normal(size=(n, 2)) for n in (60, 90))
        return Layer(name, short, long, np.array([0.5, 0.2]), 0.91, 0.95)

    layers = tuple(layer(number) for number in range(6))
    return [
        Activations("reverse_string", encoding, 0, (40, 150), (1.0, 0.6), 30, layers)
        for encoding in ("relative", "randomized-relative")
    ]


def matrices() -> list[Attention]:
    """Two models of five layers, at two lengths, with a clear anti-diagonal."""

    def at(encoding: str, length: int) -> Attention:
        layers = tuple(0.1 + 0.15 * i * np.eye(2 * length)[::-1] for i in range(5))
        return Attention("reverse_string", encoding, 0, length, 40, length, 0.75, layers)

    return [at(name, n) for name in ("relative", "randomized-relative") for n in (40, 150)]


DRAW: dict[str, Callable[[], Figure]] = {
    "curves": lambda: curves(main_store()),
    "two": lambda: curves(main_store(), ["reverse_string", "bucket_sort"]),
    "one": lambda: curves(main_store(), ["reverse_string"], statistic="best"),
    "few": lambda: curves(main_store(), ["even_pairs", "reverse_string"], ["none", "rope"]),
    "crowded": lambda: curves(crowded_store()),
    "efficiency": lambda: efficiency_of_store(efficiency_store(), Path()),
    "max-position": lambda: max_position(sweep_store()),
    "pca": lambda: pca(activations()),
    "attention": lambda: attention(matrices()),
    "overview": overview,
}


@functools.cache
def figure(name: str) -> Figure:
    """A figure that tests may look at, but not change."""
    return DRAW[name]()

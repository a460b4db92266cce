"""Which runs of a store may stand in one picture, and how good each of them is."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from randpos.catalog import get_combination
from randpos.experiment import Experiment
from randpos.store.tables import StoreTables

VARIED = ("task", "encoding", "seed", "learning_rate", "positions", "evaluation")
"""Settings in which runs of one comparison may differ."""
PAPER = Experiment().to_dict()


def comparable(runs: pl.DataFrame, *, drawn_alike: bool = True) -> pl.DataFrame:
    """Keeps the trained runs that share all settings but task, encoding, seed and rate.

    A store may hold several budgets. Of these the largest is kept: the paper's model and training
    lengths before all others, then the most steps, the largest batch and the longest test. Of
    several ways to draw randomized positions the paper's is kept, or else the most frequent.

    Args:
        runs: Rows of `StoreTables.runs`.
        drawn_alike: Also demand the same L, reading and draw; ordinal positions have none.
    """
    runs = runs.filter(status="complete")
    if runs.is_empty():
        return runs
    found = budgets(runs)
    runs = runs.filter(found == min(found.unique(), key=_rank))
    if not drawn_alike:
        return runs
    drawn = [
        _text(one["positions"]) if get_combination(one["encoding"]).prefix else ""
        for one in map(json.loads, runs["config"])
    ]
    counts = Counter(text for text in drawn if text)
    usual = _text(PAPER["positions"])
    kept = usual if usual in counts else max(sorted(counts), key=counts.__getitem__, default="")
    return runs.filter(pl.Series(drawn).is_in(["", kept]))


def rivals(runs: pl.DataFrame, what: Sequence[str], alike: Sequence[str]) -> pl.DataFrame:
    """Keeps the complete runs that have others with another setting, and are like them otherwise.

    Of these only the seeds and rates that all settings share, if there are any: the best of more
    runs is better by chance.

    Args:
        runs: Rows of `StoreTables.runs`.
        what: The columns of the setting, such as `maximum`.
        alike: The columns in which rivals agree.
    """
    kinds = pl.struct(what).n_unique()
    runs = runs.filter(pl.col("status") == "complete").filter(kinds.over(alike) > 1)
    shared = kinds.over([*alike, "seed", "learning_rate"]) == kinds.over(alike)
    runs = runs.with_columns(shared=shared)
    return runs.filter(pl.col("shared") | ~pl.col("shared").any().over(alike)).drop("shared")


def budgets(runs: pl.DataFrame) -> pl.Series:
    """Returns each run's settings but those in which runs of one comparison may differ."""
    settings = map(json.loads, runs["config"])
    texts = [_text({k: v for k, v in one.items() if k not in VARIED}) for one in settings]
    return pl.Series("budget", texts, pl.String)


def _text(settings: dict[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)


def _rank(budget: str) -> tuple:
    """Orders budgets, the largest first."""
    settings = json.loads(budget)
    foreign = tuple(settings[name] != PAPER[name] for name in ("model", "lengths", "clip"))
    return (*foreign, *(-settings[name] for name in ("steps", "batch", "test_length")), budget)


def tested(records: StoreTables) -> pl.DataFrame:
    """Returns the accuracies of each run as it was tested best.

    That is at the most lengths, then on the most examples, then with the lowest seed.
    """
    way = ["run", "batch", "seed"]
    ways = records.accuracies.group_by(way).agg(pl.len().alias("lengths"))
    order = ["run", "lengths", "batch", "seed"]
    ways = ways.sort(order, descending=[False, True, True, False])
    chosen = ways.unique("run", keep="first", maintain_order=True).select(way)
    return records.accuracies.join(chosen, on=way, how="inner").sort("run", "length")


def scores(
    records: StoreTables, runs: pl.DataFrame, *, first: int | None = None, last: int | None = None
) -> pl.DataFrame:
    """Adds the column `score` to runs: the mean accuracy over lengths, N+1..M by default.

    Lengths that were skipped are interpolated. Runs that were
    not tested up to both ends are left out.

    Args:
        records: The store.
        runs: Which of its runs to score.
        first: The first length that counts; by default N+1 of each run.
        last: The last length that counts; by default M of each run.
    """
    wanted = records.accuracies.filter(pl.col("run").is_in(runs["run"].implode()))
    by_run = tested(StoreTables(runs, wanted)).partition_by("run", as_dict=True)
    found: list[float | None] = []
    for run, seen, longest in runs.select("run", "training_length", "test_length").iter_rows():
        accuracies = by_run.get((run,))
        start, end = first or seen + 1, last or longest
        if accuracies is None or end < start:
            found.append(None)
            continue
        lengths = accuracies["length"].to_numpy()
        if lengths[0] > start or lengths[-1] < end:
            found.append(None)
            continue
        every = np.interp(np.arange(start, end + 1), lengths, accuracies["accuracy"].to_numpy())
        found.append(float(every.mean()))
    return runs.with_columns(pl.Series("score", found, pl.Float64)).drop_nulls("score")


def best_runs(scored: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Returns the run with the highest score of each group: the paper's maximum over runs."""
    # The rest of the order only settles ties, so that the same store gives the same figure.
    order = [*by, "score", "learning_rate", "seed", "run"]
    descending = [name == "score" for name in order]
    return scored.sort(order, descending=descending).unique(by, keep="first", maintain_order=True)

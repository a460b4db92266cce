"""The paper's statements about its tables, computed again from the printed numbers.

The text often does not say which mean or maximum a number is. Each entry of STATEMENTS is the
aggregation that gives the printed number, or the nearest one.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

import polars as pl

from randpos.facts import PAPER_COMBINATIONS, tasks
from randpos.paper.published import BEST_RANDOMIZED, claim, published

RANDOMIZED = tuple(name for name in PAPER_COMBINATIONS if name.startswith("randomized-"))
PLAIN = ("none", *(name.removeprefix("randomized-") for name in RANDOMIZED))
"""What the randomized encodings are compared with: their plain forms, and no encoding."""

MARGIN = 10.0
"""Points above chance that count as more than guessing; the paper gives no threshold."""


def gains(results: pl.DataFrame, ours: Collection[str], theirs: Collection[str]) -> pl.DataFrame:
    """Returns by how much the best of our encodings beats the best of theirs, for every task.

    Args:
        results: Columns task, encoding and value, as in `published`; one row for each pair.
        ours: Names of encodings.
        theirs: Names of encodings to compare them with.

    Returns:
        Columns task and gain, in the unit of the values. Tasks that lack either side are left out.
    """

    def best(names: Collection[str]) -> pl.DataFrame:
        rows = results.filter(pl.col("encoding").is_in(list(names)))
        return rows.group_by("task", maintain_order=True).agg(pl.col("value").max())

    both = best(ours).join(best(theirs), on="task", suffix="_theirs", maintain_order="left")
    return both.select("task", gain=pl.col("value") - pl.col("value_theirs"))


def _gains(table: str, ours: Collection[str], theirs: Collection[str]) -> list[float]:
    return gains(published(table).filter(statistic="max"), ours, theirs)["gain"].to_list()


def _mean_gain(table: str, ours: Collection[str], theirs: Collection[str]) -> float:
    every = _gains(table, ours, theirs)
    return sum(every) / len(every)


def _above_chance(table: str, encoding: str) -> float:
    scores = published(table).filter(statistic="max", encoding=encoding)
    chances = [100 * tasks()[task].chance for task in scores["task"]]
    return float((scores["value"] - pl.Series(chances) > MARGIN).sum())


def _product(*names: str) -> float:
    return math.prod(map(claim, names))


def _steps_per_second(task: str, encoding: str) -> float:
    cell = published("running_times").filter(task=task, encoding=encoding, statistic="mean")
    return claim("steps") / (3600 * cell["value"].item())


@dataclass(frozen=True)
class Statement:
    """How a number of the text is computed; its published value is the claim of the same name."""

    aggregation: str
    recompute: Callable[[], float]


_SORTING = ("sorting", ["randomized-sincos"], ["unsorted-sincos"])

STATEMENTS: dict[str, Statement] = {
    "gain_mean": Statement(
        "Table 1: best randomized minus best of none and the 5 plain encodings, in points; "
        "mean over all 15 tasks",
        lambda: _mean_gain("scores", RANDOMIZED, PLAIN),
    ),
    "gain_max": Statement(
        "the same differences; maximum over tasks (missing_duplicate)",
        lambda: max(_gains("scores", RANDOMIZED, PLAIN)),
    ),
    "sorting_gain_mean": Statement(
        "Table 3: sorted minus unsorted, in points; mean over all 15 tasks",
        lambda: _mean_gain(*_SORTING),
    ),
    "sorting_gain_max": Statement(
        "the same differences; maximum over tasks (bucket_sort)",
        lambda: max(_gains(*_SORTING)),
    ),
    "geometric_gain_mean": Statement(
        "Table 5, columns of the maximum: best randomized minus geometric, in points; mean over "
        "all 15 tasks; with the 52.1 that Table 1 prints for binary_multiplication it would be 9.8",
        lambda: _mean_gain("geometric", [BEST_RANDOMIZED], ["geometric"]),
    ),
    "unsorted_above_chance": Statement(
        f"Table 3: tasks more than {MARGIN:.0f} points above chance; the second one is "
        "modular_arithmetic at 31.0, as without an encoding; a margin of 11 points would give 1",
        lambda: _above_chance("sorting", "unsorted-sincos"),
    ),
    "learned_above_chance": Statement(
        f"Table 1: tasks more than {MARGIN:.0f} points above chance",
        lambda: _above_chance("scores", "learned"),
    ),
    "speedup": Statement(
        "ratio of the two training speeds; the other factor is steps until 90 %, which only a "
        "figure shows",
        lambda: claim("steps_per_second_short") / claim("steps_per_second_long"),
    ),
    "steps_per_second_short": Statement(
        "Table 2: steps of a run divided by the hours of randomized relative on missing_duplicate; "
        "the paper does not say why this is almost twice the speed of its text",
        lambda: _steps_per_second("missing_duplicate", "randomized-relative"),
    ),
    "training_examples": Statement("steps × batch", lambda: _product("steps", "batch")),
    "test_examples": Statement(
        "test batch × lengths 41 to 500",
        lambda: claim("test_batch") * (claim("test_length") - claim("training_length")),
    ),
    "runs_main": Statement(
        "tasks × encodings × rates × seeds",
        lambda: _product("tasks", "encodings", "rates", "seeds"),
    ),
    "runs_efficiency": Statement(
        "2 encodings × rates × seeds", lambda: 2 * _product("rates", "seeds")
    ),
    "runs_sweep": Statement(
        "4 values of L × rates × seeds, as the text counts; the figure shows 2 tasks",
        lambda: _product("sweep_values", "rates", "seeds"),
    ),
    "runs_total": Statement(
        "sum of the three counts",
        lambda: claim("runs_main") + claim("runs_efficiency") + claim("runs_sweep"),
    ),
}
"""Every number of the text that follows from others, by the name of its claim."""


def statements() -> pl.DataFrame:
    """Returns every statement beside what the tables give.

    Returns:
        Columns name, published, recomputed, aggregation and recovered: whether the two agree when
        rounded to the one decimal that the text has.
    """
    rows = []
    for name, statement in STATEMENTS.items():
        recomputed = statement.recompute()
        recovered = round(recomputed, 1) == claim(name)
        rows.append((name, claim(name), recomputed, statement.aggregation, recovered))
    columns = ["name", "published", "recomputed", "aggregation", "recovered"]
    return pl.DataFrame(rows, schema=columns, orient="row")

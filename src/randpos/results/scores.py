"""Scores of all runs of a store, and what a cell of a table shows of them.

`training/mean_accuracy.py` has the formula of the score. A *cell* is a task and an encoding,
trained with one budget and with positions drawn in one way.
"""

import json
from functools import cache

import polars as pl

from randpos.experiment import Experiment
from randpos.facts import OWN_MODEL, combinations, default_reading, tasks
from randpos.paper.statements import MARGIN
from randpos.plain_data import flat
from randpos.results.constant_answers import constant_answers
from randpos.store.tables import StoreTables
from randpos.training.mean_accuracy import Range, mean_accuracies

PAPER = Experiment()

BUDGET = ["variant", "training_length", "test_length", "steps", "batch"]
"""What runs must share to be compared; `variant` lists the other settings unlike the paper's."""
SETTING = ["maximum", "reading", "draw"]
"""How positions were drawn; null where they are ordinal."""
CELL = ["task", "encoding", *SETTING, *BUDGET]
FLOOR = ["task", "training_length", "test_length"]
"""What the accuracy without reading the input depends on."""
TESTED = {
    "tested_batch": "batch",
    "tested_seed": "seed",
    "tested_draws": "draws",
    "tested_numerics": "numerics",
}
"""How a run was tested, and the columns of the accuracies that say so."""
OF_DECODERS = ("whole", "forced")
"""What a test of a decoder reports beside the accuracy of generated tokens."""
FEWEST_LENGTHS = 3
"""Lengths beyond N that a run must be tested at before its answers count as constant."""
RANGES: dict[str, Range] = {
    "score": (pl.col("training_length") + 1, pl.col("test_length")),
    "in_domain": (pl.lit(1), pl.col("training_length")),
    "upper_half": ((pl.col("training_length") / 2).ceil(), pl.col("training_length")),
}
"""The lengths, both ends included, over which accuracies are averaged."""

_OWN_COLUMNS = {"task", "encoding", "seed", "learning_rate", "steps", "batch", "test_length"}
_OWN_COLUMNS |= {"lengths.maximum", *(f"positions.{name}" for name in SETTING)}


def score_runs(records: StoreTables) -> pl.DataFrame:
    """Returns the runs with their scores, one row each.

    A run that was tested in several ways counts with the test that reaches from N+1 to M, then with
    that of the highest version of the numerics, the most lengths, the largest batch, the most draws
    and the smallest seed.

    Returns:
        The columns of the runs and: `score` (mean accuracy over N+1..M), `in_domain` (over
        1..N), `upper_half` (over N/2..N), their standard errors `*_error`, `lengths` (how many were
        tested beyond N), `seen_lengths` (up to N), `tested_batch`, `tested_seed`, `tested_draws`,
        `tested_numerics` (null in older stores), `learnt` (`upper_half` is clearly above what is
        reached without reading the input), `constant` (see `_constant`),
        `whole` and `forced` (of decoders: the share of whole sequences and the teacher-forced
        accuracy, means over the same lengths as the score),
        `as_in_text` (positions were drawn as the paper's text says; null if they are ordinal),
        `variant`, `hours` and `paper_hours` (scaled to the paper's number of steps).
    """
    runs, rows = records.runs, _accuracies(records)
    way = ["run", *TESTED]
    counts = {"lengths": "score", "seen_lengths": "in_domain"}
    lengths = rows.group_by(way).agg(
        pl.col("length").is_between(*RANGES[range]).sum().cast(pl.Int64).alias(name)
        for name, range in counts.items()
    )
    tests = mean_accuracies(rows, way, RANGES).join(lengths, on=way, nulls_equal=True)
    for name in OF_DECODERS:
        means = _of_decoders(rows, way, name, RANGES["score"])
        tests = tests.join(means, on=way, how="left", nulls_equal=True)
    tests = tests.sort(
        "run",
        pl.col("score").is_null(),
        -pl.col("tested_numerics").fill_null(0),
        -pl.col("lengths"),
        -pl.col("tested_batch"),
        -pl.col("tested_draws"),
        "tested_seed",
    ).unique("run", keep="first", maintain_order=True)
    randomized = {
        name: default_reading(name) for name, (prefix, _) in combinations().items() if prefix
    }
    drawn = pl.when(pl.col("encoding").is_in(list(randomized))).then(pl.col(SETTING)).name.keep()
    reading = pl.col("encoding").replace_strict(randomized, default=None, return_dtype=pl.String)
    step = pl.col("step")
    # The training time of a model from elsewhere is not known.
    elsewhere = pl.col("encoding").str.starts_with(OWN_MODEL)
    seconds = pl.when(~elsewhere).then("seconds")
    scored = runs.join(tests, on="run", how="left", maintain_order="left").with_columns(
        drawn,
        as_in_text=(pl.col("reading") == reading) & (pl.col("draw") == PAPER.positions.draw),
        variant=pl.col("config").map_elements(variant, pl.String),
        hours=seconds / 3600,
        paper_hours=seconds / pl.when(step > 0).then(step) * PAPER.steps / 3600,
    )
    floors = _without_reading(runs)
    scored = scored.join(floors, on=FLOOR, how="left", maintain_order="left")
    above = pl.col("upper_half") > pl.col("upper_half_floor") + MARGIN / 100
    scored = scored.with_columns(learnt=above)
    return scored.join(_constant(records, scored), on="run", how="left", maintain_order="left")


def _without_reading(runs: pl.DataFrame) -> pl.DataFrame:
    """Returns the accuracy that needs no input, over the ranges of each task, N and M.

    It is the chance level, or that of the best constant answer if it is higher; null for a user's
    own task, whose chance level is not known. Beyond length 500 it is the chance level.
    """
    known = runs.select(FLOOR).unique()
    means = mean_accuracies(known.join(constant_answers(), on="task"), FLOOR, RANGES)
    chances = {name: task.chance for name, task in tasks().items()}
    chance = pl.col("task").replace_strict(chances, default=None, return_dtype=pl.Float64)
    return known.join(means, on=FLOOR, how="left").select(
        *FLOOR, *(pl.max_horizontal(name, chance).alias(f"{name}_floor") for name in RANGES)
    )


def _of_decoders(rows: pl.DataFrame, way: list[str], name: str, range: Range) -> pl.DataFrame:
    """Returns the mean of a column over a range of lengths, for the tests of decoders."""
    rows = rows.filter(pl.col("forced").is_not_null()).with_columns(accuracy=name)
    return mean_accuracies(rows.drop("error"), way, {name: range}).select(*way, name)


def _accuracies(records: StoreTables) -> pl.DataFrame:
    """Returns the accuracies with the columns of TESTED, N and M."""
    rows = records.accuracies.rename({column: name for name, column in TESTED.items()})
    return rows.join(records.runs.select("run", "training_length", "test_length"), on="run")


def counted_accuracies(records: StoreTables, scored: pl.DataFrame) -> pl.DataFrame:
    """Returns the accuracies of runs in the test that counts, sorted by run and length."""
    way = ["run", *TESTED]
    rows = _accuracies(records).join(scored.select(way), on=way, how="semi", nulls_equal=True)
    return rows.sort("run", "length")


def _constant(records: StoreTables, scored: pl.DataFrame) -> pl.DataFrame:
    """Marks runs whose answers beyond training do not depend on the input.

    Tests record it at each length (`Accuracy.constant`). Where they did not yet, only accuracies
    are known. But all runs of a task are tested on the same examples, so that constant answers show
    as accuracies near those of a constant answer that another training on the task has at every
    single length; such a run without another one is missed.
    """
    rows = counted_accuracies(records, scored)
    rows = rows.filter(pl.col("length") > pl.col("training_length"))
    curves = rows.group_by("run", *list(TESTED)[:2]).agg(
        "length",
        "accuracy",
        recorded=pl.col("constant").fill_null(False).all(),
        unknown=pl.col("constant").is_null().any(),
    )
    curves = curves.filter(pl.col("length").list.len() >= FEWEST_LENGTHS)
    near = pl.col("score") <= pl.col("score_floor") + MARGIN / 100
    # L has no effect on ordinal positions: one training under two L must not confirm itself.
    training = pl.struct(*CELL, "learning_rate", "seed")
    curves = curves.join(scored.select("run", "task", near=near, training=training), on="run")
    text = [
        pl.format("{}", pl.col(name).cast(pl.List(pl.String)).list.join(" "))
        for name in ("length", "accuracy")
    ]
    trainings = pl.col("training").n_unique()
    same = trainings.over("task", "tested_batch", "tested_seed", *text) > 1
    return curves.select(
        "run", constant=pl.when("unknown").then(pl.col("near") & same).otherwise("recorded")
    )


@cache
def variant(config: str, leave_out: tuple[str, ...] = ()) -> str:
    """Returns the settings of a run that differ from the paper's and have no column of their own.

    Args:
        config: The settings as JSON.
        leave_out: Dotted names of settings that do not count.

    >>> variant(json.dumps(Experiment(clip=0.5).to_dict()))
    'clip=0.5'
    """
    settings = flat(json.loads(config))
    changed = (
        name
        for name, value in _PAPER_SETTINGS.items()
        if settings.get(name, value) != value and name not in leave_out
    )
    return ", ".join(f"{name}={settings[name]}" for name in changed)


_PAPER_SETTINGS = {
    name: value
    for name, value in sorted(flat(PAPER.to_dict()).items())
    if name not in _OWN_COLUMNS and not name.startswith("evaluation.")
}


def counted_runs(scored: pl.DataFrame) -> pl.DataFrame:
    """Keeps the complete runs that have a score, one for each seed and rate of a cell.

    L has no effect on ordinal positions, so that two runs may be the same training.
    """
    done = scored.filter(pl.col("status") == "complete", pl.col("score").is_not_null())
    return done.unique([*CELL, "learning_rate", "seed"], keep="first", maintain_order=True)


def best_runs(scored: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Returns the run with the highest score of each group; ties go to the lower rate and seed."""
    order = [*by, "score", "learning_rate", "seed", "run"]
    ordered = scored.sort(order, descending=[name == "score" for name in order])
    return ordered.unique(by, keep="first", maintain_order=True)


def best_rates(scored: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Keeps the runs at the learning rate with the highest mean score of each group.

    Only the rates with the most seeds of a group compete: a single lucky seed must not beat a mean
    of ten. Means are rounded, because the last bits must not decide between equal rates; ties go to
    the lower rate.
    """
    rates = scored.group_by(*by, "learning_rate").agg(
        seeds=pl.col("seed").n_unique(), mean=pl.col("score").mean().round(12)
    )
    order = [*by, "seeds", "mean", "learning_rate"]
    rates = rates.sort(order, descending=[name in ("seeds", "mean") for name in order])
    best = rates.unique(by, keep="first").drop("seeds", "mean")
    return scored.join(best, on=[*by, "learning_rate"], how="semi", nulls_equal=True)


def cells(scored: pl.DataFrame) -> pl.DataFrame:
    """Returns one row for each cell: best run, mean ± sd at the best rate, counts and hours.

    `best` is the maximum over seeds and rates (Table 1); `mean` and `sd` are over the seeds of the
    rate with the highest mean (Table 4). The paper does not say whether its sd divides by n or by
    n − 1; ours divides by n − 1 and is null for a single seed.

    Args:
        scored: Scored runs; those of `like_with_like` have a column `alike`.
    """
    if "alike" not in scored.columns:
        scored = scored.with_columns(alike=pl.lit(True))
    tested = counted_runs(scored)
    best = best_runs(tested, CELL).select(
        *CELL,
        "run",
        best="score",
        best_seed="seed",
        best_rate="learning_rate",
        best_in_domain="in_domain",
        best_error="score_error",
    )
    counts = tested.group_by(CELL).agg(
        runs=pl.len(),
        seeds=pl.col("seed").n_unique(),
        rates=pl.col("learning_rate").n_unique(),
        constant=pl.col("constant").sum(),
        alike=pl.col("alike").all(),
    )
    means = (
        best_rates(tested, CELL)
        .group_by(CELL)
        .agg(
            rate=pl.col("learning_rate").first(),
            scores=pl.col("score").sort_by("seed"),
            errors=pl.col("score_error").sort_by("seed"),
            mean=pl.col("score").mean(),
            sd=pl.col("score").std(ddof=1),
            mean_in_domain=pl.col("in_domain").mean(),
            mean_error=pl.col("score_error").mean(),
            mean_whole=pl.col("whole").mean(),
            mean_forced=pl.col("forced").mean(),
            rate_seeds=pl.len(),
        )
    )
    done = scored.filter(pl.col("status") == "complete")
    times = done.group_by(CELL).agg(
        pl.col("hours", "paper_hours").mean(),
        pl.col("hours", "paper_hours").std(ddof=1).name.suffix("_sd"),
        timed=pl.col("hours").count(),
    )
    for part in (best, counts, means):
        times = times.join(part, on=CELL, how="left", nulls_equal=True)
    return times.sort(CELL)

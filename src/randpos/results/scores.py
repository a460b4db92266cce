"""The score of every run, and what a cell of a table makes of its runs.

All runs of a store at once, as frames. A *cell* is a task and an encoding under one budget: runs of
different budgets, or whose positions were drawn in different ways, never share one.
"""

import json

import polars as pl

from randpos.catalog import combinations
from randpos.experiment import Experiment, flat
from randpos.store.tables import RUNS, StoreTables

PAPER_STEPS = Experiment().steps

BUDGET = ["variant", "training_length", "test_length", "steps", "batch", "tested_batch"]
"""What must agree within a cell; `variant` lists what differs from the paper's model and schedule,
and `test_length` is the longest length that was tested."""
SETTING = ["maximum", "reading", "draw"]
"""How positions were drawn; L is null where positions are ordinal."""
CELL = ["task", "encoding", *SETTING, *BUDGET]


def score_runs(records: StoreTables) -> pl.DataFrame:
    """Returns the runs with score, in-domain accuracy and the way they were tested.

    A run that was tested in several ways counts with the one of the most lengths (then of the
    largest batch, then of the smallest seed).
    """
    runs = _sound(records.runs)
    ways = _means(records.accuracies.join(runs.select("run", "training_length"), on="run"))
    order = ["run", "lengths", "tested_batch", "tested_seed"]
    ways = ways.sort(order, descending=[False, True, True, False])
    ways = ways.unique("run", keep="first", maintain_order=True)
    ordinal = [name for name, one in combinations().items() if not one.prefix]
    config, step = pl.col("config").map_elements(variant, pl.String), pl.col("step")
    return runs.join(ways, on="run", how="left", maintain_order="left").with_columns(
        variant=config,
        maximum=pl.when(~pl.col("encoding").is_in(ordinal)).then("maximum"),
        test_length=pl.coalesce("longest", "test_length"),
        tested_batch=pl.col("tested_batch").fill_null(0),
        hours=pl.col("seconds") / 3600,
        paper_hours=pl.col("seconds") / pl.when(step > 0).then(step) * PAPER_STEPS / 3600,
    )


def _sound(runs: pl.DataFrame) -> pl.DataFrame:
    """Keeps runs that say what they are; a packed store may come from anybody."""
    texts = {"config": "{}", "environment": "{}", "curve": "[]"}
    needed = [name for name in RUNS if name not in {*texts, "step", "seconds", "reason"}]
    finite = pl.when(pl.col("seconds").is_between(0, 1e12)).then("seconds")  # not NaN
    runs = runs.drop_nulls(needed).filter(pl.col("learning_rate").is_finite())
    runs = runs.with_columns(finite, *(pl.col(n).fill_null(t) for n, t in texts.items()))
    return runs.unique("run", keep="first", maintain_order=True)


def _means(accuracies: pl.DataFrame) -> pl.DataFrame:
    """Returns score and in-domain accuracy of every run and way of testing it.

    Lengths between two tested ones are interpolated linearly, as in `evaluation.score`. Summed over
    a gap, the left end counts (gap − 1)/2 times and the right end (gap + 1)/2 times.
    """
    rows = accuracies.filter(pl.col("accuracy").is_finite())
    length, accuracy = pl.col("length").sort(), pl.col("accuracy").sort_by("length")
    unseen = length > pl.col("training_length").first()

    def mean(part: pl.Expr) -> pl.Expr:
        gap = length.filter(part).diff().cast(pl.Float64)
        weight = ((gap + 1) / 2).fill_null(1.0) + ((gap.shift(-1) - 1) / 2).fill_null(0.0)
        total = (weight * accuracy.filter(part)).sum()
        return pl.when(part.any()).then(total / weight.sum())

    return rows.group_by("run", tested_batch="batch", tested_seed="seed").agg(
        score=mean(unseen),
        in_domain=mean(~unseen),
        longest=pl.col("length").max().cast(pl.Int64),
        lengths=unseen.sum().cast(pl.Int64),
    )


def variant(config: str) -> str:
    """Returns how a run's model, clipping and length schedule differ from the paper's.

    >>> variant(json.dumps(Experiment(clip=0.5).to_dict()))
    'clip=0.5'
    """
    try:
        ours = flat(json.loads(config))
    except (ValueError, RecursionError):
        return "unreadable configuration"
    changed = (name for name, value in _USUAL.items() if ours.get(name) != value)
    return ", ".join(f"{name}={ours.get(name)}" for name in changed)


_USUAL = {
    name: value
    for name, value in sorted(flat(Experiment().to_dict()).items())
    if name.startswith(("clip", "model.", "lengths.")) and name != "lengths.maximum"
}


def counted(scored: pl.DataFrame) -> pl.DataFrame:
    """Keeps the complete and tested runs, one for each seed and rate of a cell.

    L means nothing to ordinal positions, so that two runs may be the same training.
    """
    done = scored.filter(pl.col("status") == "complete", pl.col("score").is_not_null())
    return done.unique([*CELL, "learning_rate", "seed"], keep="first", maintain_order=True)


def cells(scored: pl.DataFrame) -> pl.DataFrame:
    """Returns one row for each cell: best, mean ± sd at the best rate, counts and hours.

    `best` is the maximum over seeds and rates (Table 1); `mean` and `sd` are over the seeds of the
    rate with the highest mean (Table 4). Ties go to the lower rate, then to the lower seed. The
    paper does not say whether its sd divides by n or by n − 1, and no printed cell settles it (the
    farthest maximum lies 2.7 sd above its mean, within the bounds of both): ours divides by n − 1,
    and is null for a single seed.
    """
    tested = counted(scored)
    rates = tested.group_by(*CELL, "learning_rate").agg(
        mean=pl.col("score").mean(), sd=pl.col("score").std(ddof=1), rate_seeds=pl.len()
    )
    # Rounded, for the last bits of a mean must not decide between equal rates.
    rates = rates.sort(pl.col("mean").round(12), "learning_rate", descending=[True, False])
    rates = rates.unique(CELL, keep="first").rename({"learning_rate": "rate"})
    ordered = tested.sort("score", "learning_rate", "seed", descending=[True, False, False])
    best = ordered.group_by(CELL, maintain_order=True).agg(
        pl.col("run").first(),
        pl.col("in_domain").first(),
        best=pl.col("score").first(),
        best_seed=pl.col("seed").first(),
        best_rate=pl.col("learning_rate").first(),
        runs=pl.len(),
        seeds=pl.col("seed").n_unique(),
        rates=pl.col("learning_rate").n_unique(),
        lengths=pl.col("lengths").min(),
    )
    times = (
        scored.filter(pl.col("status") == "complete")
        .group_by(CELL)
        .agg(
            timed=pl.col("hours").count(),
            hours=pl.col("hours").mean(),
            hours_sd=pl.col("hours").std(ddof=1),
            paper_hours=pl.col("paper_hours").mean(),
            paper_hours_sd=pl.col("paper_hours").std(ddof=1),
        )
    )
    both = times.join(best, on=CELL, how="left", nulls_equal=True)
    return both.join(rates, on=CELL, how="left", nulls_equal=True).sort(CELL)

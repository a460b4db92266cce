"""The leaderboard: one row per model, with its mean score over tasks."""

import polars as pl

from randpos.facts import OWN_MODEL, tasks
from randpos.paper.looks import encoding_label
from randpos.results.scores import best_rates, counted_runs, score_runs
from randpos.results.selection import like_with_like, select
from randpos.store.tables import StoreTables

LEVELS = {"R": "regular", "DCF": "context-free", "CS": "context-sensitive"}


def leaderboard(records: StoreTables) -> tuple[pl.DataFrame, list[str]]:
    """Returns the models of a store, best first, and notes on their budget.

    The score of a task is the mean over the seeds of the best learning rate (Table 4 of the paper),
    of those rates that all models of the task have; models from elsewhere have rates of their own.
    The score of a model is the mean over its tasks. Models with more tasks come first, because
    means over different tasks cannot be compared.

    Returns:
        Columns encoding, tasks, seeds, score, in_domain and one per level; shares, null where
        there is nothing to average.
    """
    scored = score_runs(records)
    runs, notes = select(scored, scored, None)
    by = ["task", "encoding"]
    elsewhere = pl.col("encoding").str.starts_with(OWN_MODEL)
    tested = counted_runs(runs).with_columns(elsewhere=elsewhere)
    shared = like_with_like(tested, ["encoding"], ["task", "elsewhere"], ("learning_rate",))
    means = (
        best_rates(shared, by)
        .group_by(by)
        .agg(pl.col("score", "in_domain").mean(), seeds=pl.col("seed").n_unique())
    )
    levels = {name: task.level for name, task in tasks().items()}
    level = pl.col("task").replace_strict(levels, default=None, return_dtype=pl.String)
    by_level = {
        name: pl.col("score").filter(pl.col("level") == key).mean() for key, name in LEVELS.items()
    }
    board = (
        means.with_columns(level=level)
        .group_by("encoding")
        .agg(
            tasks=pl.len(),
            seeds=pl.col("seeds").min(),
            score=pl.col("score").mean(),
            in_domain=pl.col("in_domain").mean(),
            **by_level,
        )
    )
    return board.sort("tasks", "score", "encoding", descending=[True, True, False]), notes


def markdown(board: pl.DataFrame, notes: list[str]) -> str:
    """Writes a leaderboard as a Markdown table, in percent."""
    shares = ["score", "in_domain", *LEVELS.values()]
    head = ["model", "tasks", "seeds", "score", "in-domain", *LEVELS.values()]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    for row in board.iter_rows(named=True):
        numbers = ["–" if row[name] is None else f"{100 * row[name]:.1f}" for name in shares]
        cells = [encoding_label(row["encoding"]), str(row["tasks"]), str(row["seeds"]), *numbers]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *notes])

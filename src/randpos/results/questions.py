"""The runs behind the paper's open questions: each comparison differs in one setting only."""

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from randpos.facts import combinations, default_reading, tasks
from randpos.plain_data import flat
from randpos.results.scores import BUDGET, PAPER, counted_runs, variant
from randpos.results.selection import (
    Budget,
    Selection,
    alike_note,
    like_with_like,
    seeds_note,
    select,
    usual_maximum,
)


def with_settings(runs: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Gives settings columns of their own, named by the last part, and cuts them out of `variant`.

    Args:
        runs: Scored runs.
        names: Dotted names of settings, such as `model.dropout`.
    """
    usual = flat(PAPER.to_dict())
    configs: list[dict[str, Any]] = [flat(json.loads(text)) for text in runs["config"]]
    columns = []
    for name in names:
        values = [config.get(name, usual[name]) for config in configs]
        kind = pl.Float64 if isinstance(usual[name], float) else pl.String
        columns.append(pl.Series(name.rpartition(".")[2], values, kind))
    variants = [variant(text, leave_out=names) for text in runs["config"]]
    return runs.with_columns(*columns, pl.Series("variant", variants, pl.String))


def compare_setting(
    scored: pl.DataFrame,
    setting: Sequence[str],
    budget: Budget | None,
    *,
    among: Sequence[str],
    settings: Sequence[str] = (),
) -> Selection:
    """Returns the complete runs of one budget that differ in a setting only, over shared seeds.

    Args:
        scored: Scored runs.
        setting: The columns that are compared.
        budget: The budget, or None for the budget with the most cells.
        among: The columns that runs must share besides, such as `task`.
        settings: Dotted names of compared settings that have no column of their own.
    """
    tested = with_settings(counted_runs(scored), *settings)
    within = [*among, *BUDGET]
    tested = tested.filter(pl.struct(setting).n_unique().over(within) > 1)
    found = like_with_like(tested, setting, within)
    runs, notes = select(scored, found, budget, one_way=False)
    notes += alike_note(runs)
    return Selection(runs, [*notes, seeds_note(runs, [*among, *setting])])


def maximum_runs(scored: pl.DataFrame, budget: Budget | None = None) -> Selection:
    """Returns runs that differ in L and in dropout, with the column `ratio`: L / longest sequence.

    A user's own tasks are left out: their code is not loaded, so the longest sequence is not known.
    """
    known = scored.filter("as_in_text", pl.col("task").is_in(list(tasks())))
    setting, apart = ["maximum", "dropout"], ["model.dropout"]
    among = ["task", "encoding"]
    runs, notes = compare_setting(known, setting, budget, among=among, settings=apart)
    from randpos.tasks import TASKS  # here: they load JAX
    from randpos.tasks.layout import Layout

    longest = [
        int(Layout(TASKS[task], thinking=thinking).total_length(length))
        for task, length, thinking in runs.select(
            "task", "test_length", _thinking(runs["config"])
        ).iter_rows()
    ]
    ratio = (pl.col("maximum") / pl.Series(longest, dtype=pl.Int64)).round(2)
    return Selection(runs.with_columns(ratio=ratio), notes)


def _thinking(configs: pl.Series) -> pl.Series:
    """Returns the blank tokens per token of input of each run."""
    values = [json.loads(text).get("thinking", PAPER.thinking) for text in configs]
    return pl.Series("thinking", values, pl.Int64)


def draw_runs(scored: pl.DataFrame, budget: Budget | None = None) -> Selection:
    """Returns runs that differ in how often positions are drawn, of the usual reading and L."""
    readings = {name: default_reading(name) for name in combinations()}
    own = pl.col("reading")  # an encoding of the user's has one reading
    usual = pl.col("encoding").replace_strict(readings, default=own, return_dtype=pl.String)
    drawn = scored.filter(pl.col("maximum").is_not_null(), own == usual)
    among = ["task", "encoding", "maximum", "reading"]
    runs, notes = compare_setting(drawn, ["draw"], budget, among=among)
    return Selection(usual_maximum(runs), notes)


def scale_runs(scored: pl.DataFrame, budget: Budget | None = None) -> Selection:
    """Returns runs that differ in the scale of attention."""
    return compare_setting(
        scored,
        ["attention_scale"],
        budget,
        among=["task", "encoding", "maximum", "reading", "draw"],
        settings=["model.attention_scale"],
    )

"""Tables with a column for each encoding: scores, means, running times, and the two ablations."""

import dataclasses

import polars as pl

from randpos.facts import PAPER_COMBINATIONS
from randpos.paper import PLAIN, RANDOMIZED, claim
from randpos.paper.looks import encoding_label
from randpos.results.scores import PAPER, counted_runs
from randpos.results.selection import (
    Budget,
    Selection,
    alike_note,
    count,
    count_range,
    first_budget,
    like_with_like,
    seeds_note,
    select,
)
from randpos.results.statistics import FEWEST
from randpos.results.tables.cells import (
    SCORE,
    Data,
    Read,
    Values,
    beside,
    best_value,
    constant_note,
    from_paper,
    mean_value,
    values,
)
from randpos.results.tables.labels import encoding_columns, task_rows
from randpos.results.tables.table import Column, Table, Value

OWN_TABLE = [name for name in PAPER_COMBINATIONS if name not in (*PLAIN, *RANDOMIZED)]
"""Encodings that the paper shows in tables of their own."""


def shared_runs(
    scored: pl.DataFrame,
    encodings: pl.Expr,
    budget: Budget | None,
    on: tuple[str, ...] = ("seed", "learning_rate"),
) -> Selection:
    """Returns the tested runs of some encodings over what all encodings of a task share."""
    chosen, notes = select(scored, scored.filter(encodings), budget)
    shared = like_with_like(counted_runs(chosen), ["encoding"], ["task"], on)
    return Selection(shared, notes + alike_note(shared) + constant_note(shared))


def alike_values(runs: pl.DataFrame, read: Read) -> Values:
    """Reads the values of cells, and beside each the one over what all cells of its task share.

    The best is marked among the latter, and only if the cells share at least three seeds, or all
    that they have.
    """
    found, shared = values(runs, read), values(like_with_like(runs, ["encoding"], ["task"]), read)
    most: dict[str, int] = {}
    for (task, _), value in found.items():
        most[task] = max(most.get(task, 0), value.seeds or 0)
    return {
        key: dataclasses.replace(
            value,
            alike=other.alike and (other.seeds or 0) >= min(FEWEST, most[key[0]]),
            shared=other.value,
        )
        for key, value in found.items()
        for other in [shared[key]]
    }


def scores(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Table 1: the best run over the seeds and rates that all encodings of a task have."""
    runs, notes = shared_runs(scored, ~pl.col("encoding").is_in(OWN_TABLE), budget)
    ours = alike_values(runs, best_value)
    title = f"Table 1. {SCORE}; maximum over seeds and learning rates"
    notes += [f"Maximum over {seeds_note(runs)}", *maximum_note(runs)]
    return _wide("table1", title, ours, from_paper("scores", "max"), notes)


def maximum_note(runs: pl.DataFrame) -> list[str]:
    """Says that a difference from the paper compares maxima over unequal numbers of runs."""
    known = {task for task, _ in from_paper("scores", "max")}
    counts = runs.filter(pl.col("task").is_in(known)).group_by("task", "encoding").len()["len"]
    paper = int(claim("seeds") * claim("rates"))
    if counts.is_empty() or set(counts) == {paper}:
        return []
    return [
        f"Ours is a maximum over {count_range(counts, 'run')}, the paper's over {paper}. A maximum "
        "over fewer runs is lower by chance, and so is ours − paper."
    ]


def means(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Table 4: mean and standard deviation over seeds at the best rate."""
    runs, notes = shared_runs(
        scored, ~pl.col("encoding").is_in(OWN_TABLE), budget, ("learning_rate",)
    )
    title = f"Table 4. {SCORE}; mean ± sd over seeds at the best learning rate"
    notes.append(f"Mean over {seeds_note(runs)}")
    notes.append(
        "Our sd divides by n − 1 and needs two seeds; the paper does not say how it divides."
    )
    return _wide(
        "table-means", title, alike_values(runs, mean_value), from_paper("means", "mean"), notes
    )


def _wide(name: str, title: str, ours: Values, theirs: Values, notes: list[str]) -> Table:
    columns = encoding_columns(encoding for _, encoding in ours)
    rows = task_rows(task for task, _ in ours)
    return Table(name, title, "%", columns, rows, beside(ours, theirs), notes)


def running_times(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Table 2: hours of a run, as if it had the paper's number of steps."""
    title = f"Table 2. Hours per run, scaled to the paper's {PAPER.steps:,} steps"
    note = "The paper's are from one V100, ours from the devices that the runs were on."
    theirs = from_paper("running_times", "mean")
    return _times(scored, budget, "paper_hours", ("running-times", title, 2), theirs, note)


def measured_times(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Hours of a run as measured."""
    title = "Table 2. Hours per run, as measured, at the budget of this store"
    return _times(scored, budget, "hours", ("running-times-measured", title, 3), {})


def _times(
    scored: pl.DataFrame,
    budget: Budget | None,
    column: str,
    about: tuple[str, str, int],
    theirs: Values,
    *extra: str,
) -> Table:
    def read(cell: Data) -> Value | None:
        if not cell["timed"]:
            return None
        detail = count(cell["timed"], "run")
        return Value(cell[column], cell[f"{column}_sd"], detail=detail)

    name, title, digits = about
    runs, notes = select(scored, scored.filter(~pl.col("encoding").is_in(OWN_TABLE)), budget)
    notes += [f"Mean over {seeds_note(runs)}", *extra]
    notes.append("Members of an ensemble share its time equally; testing is not part of it.")
    table = _wide(name, title, values(runs, read), theirs, notes)
    return dataclasses.replace(table, unit="hours", digits=digits, best=False)


def sorting(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Table 3: randomized sin/cos without and with sorting its positions."""
    names = {"unsorted-sincos": "w/o Sorting", "randomized-sincos": "w/ Sorting"}
    budget = budget or _budget_of(scored, "unsorted-sincos")
    runs, notes = shared_runs(scored, pl.col("encoding").is_in(list(names)), budget)
    ours = alike_values(runs, best_value)
    columns = [Column(key, label, "Randomized sin/cos") for key, label in names.items()]
    title = f"Table 3. {SCORE}; positions sorted or not, maximum over seeds and learning rates"
    notes += [f"Maximum over {seeds_note(runs)}", *maximum_note(runs)]
    theirs, rows = from_paper("sorting", "max"), task_rows(task for task, _ in ours)
    return Table("ablation-sorting", title, "%", columns, rows, beside(ours, theirs), notes)


def geometric(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Table 5: geometric attention beside the best randomized encoding of each task."""
    budget = budget or _budget_of(scored, "geometric")
    runs, notes = shared_runs(scored, pl.col("encoding").is_in(["geometric", *RANDOMIZED]), budget)
    ours: Values = {}
    theirs: Values = {}
    columns = []
    for statistic, read, group in (("max", best_value, "Max"), ("mean", mean_value, "Mean ± SD")):
        for (task, encoding), value in alike_values(runs, read).items():
            side = "geometric" if encoding == "geometric" else "best-randomized"
            old = ours.get(key := (task, f"{side}-{statistic}"))
            if old is None or value.value > old.value:
                detail = f"{encoding_label(encoding)}: {value.detail}"
                ours[key] = dataclasses.replace(value, detail=detail)
        for (task, side), value in from_paper("geometric", statistic).items():
            theirs[task, f"{side}-{statistic}"] = value
        theirs |= _best_of_those_run(runs, statistic)
        columns.append(Column(f"best-randomized-{statistic}", "Best randomized", group))
        columns.append(Column(f"geometric-{statistic}", "Geometric", group))
    blocks = tuple(tuple(c.key for c in columns[i : i + 2]) for i in (0, 2))
    rows = task_rows(task for task, _ in ours)
    title = f"Table 5. {SCORE}; geometric attention with directional encoding"
    notes += [f"Maximum or mean over {seeds_note(runs)}", *maximum_note(runs)]
    both = beside(ours, theirs)
    return Table("geometric", title, "%", columns, rows, both, notes, blocks=blocks)


def _budget_of(scored: pl.DataFrame, encoding: str) -> Budget | None:
    """Returns the first budget of the encoding that a table is about."""
    return first_budget(scored.filter(pl.col("encoding") == encoding))


def _best_of_those_run(runs: pl.DataFrame, statistic: str) -> Values:
    """Returns the paper's best randomized encoding of the tasks of which we ran only some."""
    known = from_paper("scores" if statistic == "max" else "means", statistic)
    best: Values = {}
    for (task,), rows in runs.group_by("task"):
        ran = [name for name in RANDOMIZED if name in rows["encoding"]]
        found = [known[task, name] for name in ran if (task, name) in known]
        if found and len(ran) < len(RANDOMIZED):
            best[task, f"best-randomized-{statistic}"] = max(found, key=lambda value: value.value)
    return best

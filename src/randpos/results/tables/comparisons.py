"""Tables of differences: the paper's headline gain, intervals over seeds, paired comparisons."""

import dataclasses

import polars as pl

from randpos.paper import PLAIN, RANDOMIZED
from randpos.paper.looks import encoding_label
from randpos.results.comparison import BEST, Comparison, compare
from randpos.results.scores import best_rates
from randpos.results.selection import Budget, count, seeds_note, select
from randpos.results.tables.cells import (
    SCORE,
    Values,
    beside,
    best_value,
    each_seed,
    from_paper,
    interval_notes,
    interval_value,
    listed,
    values,
)
from randpos.results.tables.encodings import alike_values, maximum_note, shared_runs
from randpos.results.tables.labels import encoding_columns, task_rows
from randpos.results.tables.table import Column, Row, Table, Value

EVERY = Row("every", "Mean over tasks", "all")
PAIRED = pl.col("encoding").is_in([*PLAIN, *RANDOMIZED])


def gains(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """The headline: by how much the best randomized encoding beats the best other one.

    The paper's number of a task takes the same encodings as ours.
    """
    runs, notes = shared_runs(scored, PAIRED, budget)
    ours = values(runs.filter("alike"), best_value)
    theirs = {
        key: value
        for key, value in from_paper("scores", "max").items()
        if key in ours or key[0] not in {task for task, _ in ours}
    }
    ours, theirs = _best_sides(ours), _best_sides(theirs)
    notes += [f"Maximum over {seeds_note(runs)}", *maximum_note(runs.filter("alike"))]
    notes += _add_means(ours, theirs)
    columns = [
        Column("plain", "Best of none and plain"),
        Column("randomized", "Best randomized"),
        Column("gain", "Gain", signed=True),
    ]
    rows = [*task_rows(task for task, _ in ours if task != EVERY.key), EVERY]
    title = f"Gain by randomized positions. {SCORE}; maximum over seeds and learning rates"
    return Table("gains", title, "%", columns, rows, beside(ours, theirs), notes, best=False)


def _best_sides(scores: Values) -> Values:
    """Returns the best plain and the best randomized value of each task, and their difference."""
    table: Values = {}
    for side, names in (("plain", PLAIN), ("randomized", RANDOMIZED)):
        for (task, encoding), value in scores.items():
            old = table.get((task, side))
            if encoding in names and (old is None or value.value > old.value):
                detail = f"{encoding_label(encoding)}: {value.detail}".rstrip(": ")
                table[task, side] = dataclasses.replace(value, detail=detail)
    for task in dict.fromkeys(task for task, _ in scores):
        plain, randomized = (table.get((task, side)) for side in ("plain", "randomized"))
        if plain and randomized:
            gain = randomized.value - plain.value
            # Both are of the same seeds and rates.
            table[task, "gain"] = Value(gain, seeds=plain.seeds, rates=plain.rates)
    return table


def _add_means(ours: Values, theirs: Values) -> list[str]:
    """Adds the mean gain to both sides, over the tasks that both have; returns notes on it."""

    def mean(side: Values, tasks: list[str]) -> float:
        return sum(side[task, "gain"].value for task in tasks) / len(tasks)

    every = [task for task, column in theirs if column == "gain"]
    shared = [task for task in every if (task, "gain") in ours]
    if not shared:
        if every:
            theirs[EVERY.key, "gain"] = Value(mean(theirs, every))
        return []
    theirs[EVERY.key, "gain"] = Value(mean(theirs, shared))
    ours[EVERY.key, "gain"] = Value(mean(ours, shared))
    whole = _best_sides(from_paper("scores", "max"))
    tasks = [task for task, column in whole if column == "gain"]
    return [
        f"Both means are over the {count(len(shared), 'task')} that were run, and the paper's side "
        f"over the encodings that ours has; over all {len(tasks)} tasks and 11 encodings the "
        f"paper's mean gain is {mean(whole, tasks):.1f}."
    ]


def intervals(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """The means of Table 4 with intervals instead of standard deviations."""
    runs, notes = shared_runs(scored, PAIRED, budget, ("learning_rate",))
    ours = alike_values(runs, interval_value)
    theirs = {
        key: dataclasses.replace(value, sd=None)
        for key, value in from_paper("means", "mean").items()
    }
    notes.append(f"Mean over {seeds_note(best_rates(runs, ['task', 'encoding']))}")
    notes += interval_notes(ours.values())
    title = f"{SCORE}; mean over seeds at the best learning rate [95 % interval]"
    columns, rows = encoding_columns([]), task_rows(task for task, _ in ours)
    return Table("intervals", title, "%", columns, rows, beside(ours, theirs), notes)


def comparison(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Randomized minus plain, seed by seed."""
    chosen, notes = select(scored, scored.filter(PAIRED), budget)
    found = list(compare(chosen))
    ours = {(pair.task, pair.pair): _paired(pair) for pair in found}
    theirs = {
        (pair.task, pair.pair): Value(pair.paper.value, interval=pair.paper.interval)
        for pair in found
        if pair.paper
    }
    columns = [Column(name, encoding_label(name)) for name in PLAIN if name != "none"]
    columns.append(Column(BEST, "Best − best"))
    notes += [
        "Randomized minus plain, each at its best rate, over the seeds and rates that both have. "
        "In-domain: randomized / plain.",
        "The paper's 95 % interval is Welch's, from its means and standard deviations over 10 "
        "seeds. An interval without zero shows the sign.",
        "Best − best: the best of either side is chosen on the same scores, so that its intervals "
        "are too narrow; the paper's side has the encodings that ours has.",
        *interval_notes(ours.values()),
        *_not_learnt(found),
    ]
    title = f"Randomized − plain. {SCORE}; mean difference over seeds [95 % interval]"
    rows = task_rows(task for task, _ in ours)
    cells = beside(ours, theirs)
    return Table("comparison", title, "%", columns, rows, cells, notes, best=False, signed=True)


def _paired(pair: Comparison) -> Value:
    names = f"{encoding_label(pair.randomized)} − {encoding_label(pair.plain)}"
    value, interval = pair.ours
    return Value(
        value,
        interval=interval,
        in_domain=pair.in_domain,
        seeds=len(pair.seeds),
        error=pair.error,
        detail=f"{names}: {each_seed(pair.gaps, '+')}; {pair.verdict}",
    )


def _not_learnt(found: list[Comparison]) -> list[str]:
    """Names the pairs that show nothing about generalization, because a side was not learnt."""
    pairs = [((p.task, p.plain), "") for p in found if p.pair != BEST and not all(p.learnt)]
    return (
        [f"No verdict, because a side has not learnt the task: {listed(pairs)}."] if pairs else []
    )

"""Tables of differences: the paper's headline gain, intervals over seeds, paired comparisons."""

import polars as pl

from randpos.paper import PLAIN, RANDOMIZED, gains
from randpos.results.budgets import Budget, choose, count, usual
from randpos.results.scores import cells
from randpos.results.statistics import BEST, bootstrap, by_seed, compare
from randpos.results.tables.encodings import SCORE, best_value, from_paper, pair, task_rows, values
from randpos.results.tables.labels import encoding_columns, encoding_label
from randpos.results.tables.table import Column, Row, Table, Value

EVERY = Row("every", "Mean over tasks", "all")
Values = dict[tuple[str, str], Value]


def _relevant(scored: pl.DataFrame) -> pl.DataFrame:
    return usual(scored).filter(pl.col("encoding").is_in([*PLAIN, *RANDOMIZED]))


def gains_table(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """The headline: by how much the best randomized encoding beats the best other one."""
    chosen, notes = choose(scored, _relevant(scored), budget)
    ours, theirs = _gains(values(chosen, best_value)), _gains(from_paper("scores", "max"))
    notes += _add_means(ours, theirs)
    columns = [
        Column("plain", "Best of none and plain"),
        Column("randomized", "Best randomized"),
        Column("gain", "Gain", signed=True),
    ]
    rows = [*task_rows([task for task, _ in ours if task != EVERY.key]), EVERY]
    title = f"Gain by randomized positions. {SCORE}; maximum over seeds and learning rates"
    return Table("gains", title, "%", columns, rows, pair(ours, theirs), notes, best=False)


def _gains(scores: Values) -> Values:
    table: Values = {}
    for side, names in (("plain", PLAIN), ("randomized", RANDOMIZED)):
        for (task, encoding), value in scores.items():
            old = table.get((task, side))
            if encoding in names and (old is None or value.value > old.value):
                detail = f"{encoding_label(encoding)}: {value.detail}".rstrip(": ")
                table[task, side] = Value(value.value, detail=detail, run=value.run)
    long = [(*key, value.value) for key, value in scores.items()]
    frame = pl.DataFrame(long, schema=["task", "encoding", "value"], orient="row")
    for task, gain in gains(frame, RANDOMIZED, PLAIN).iter_rows() if long else ():
        table[task, "gain"] = Value(gain)
    return table


def _add_means(ours: Values, theirs: Values) -> list[str]:
    """Adds the mean gain to both sides, over the tasks that both have; says so in a note."""

    def mean(side: Values, tasks: list[str]) -> float:
        return sum(side[task, "gain"].value for task in tasks) / len(tasks)

    every = [task for task, column in theirs if column == "gain"]
    whole = mean(theirs, every)
    shared = [task for task in every if (task, "gain") in ours]
    theirs[EVERY.key, "gain"] = Value(mean(theirs, shared or every))
    if not shared:
        return []
    ours[EVERY.key, "gain"] = Value(mean(ours, shared))
    if len(shared) == len(every):
        return []
    both = f"Both means are over the {count(len(shared), 'task')} that were run"
    return [f"{both}; over all {len(every)} the paper's is {whole:.1f}."]


def intervals(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """The means of Table 4 with bootstrap intervals instead of standard deviations."""
    chosen, notes = choose(scored, _relevant(scored), budget)
    rows = by_seed(chosen, cells(chosen))
    ours: Values = {}
    for (task, encoding), part in rows.group_by("task", "encoding", maintain_order=True):
        interval = bootstrap(100 * part["score"].to_numpy())
        detail = f"{part.height} seeds" if interval else "one seed: no interval"
        mean = 100 * sum(part["score"]) / part.height
        ours[str(task), str(encoding)] = Value(mean, interval=interval, detail=detail)
    theirs = {key: Value(one.value) for key, one in from_paper("means", "mean").items()}
    notes.append("Intervals: 95 % bootstrap of the mean over seeds (10,000 draws, fixed seed).")
    notes += _single(ours)
    title = f"{SCORE}; mean over seeds at the best learning rate [95 % interval]"
    columns, tasks = encoding_columns([]), task_rows([task for task, _ in ours])
    return Table("intervals", title, "%", columns, tasks, pair(ours, theirs), notes)


def comparison(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Randomized minus plain, seed by seed."""
    chosen, notes = choose(scored, _relevant(scored), budget)
    ours: Values = {}
    for one in compare(by_seed(chosen, cells(chosen))):
        interval = one.interval and (100 * one.interval.low, 100 * one.interval.high)
        names = f"{encoding_label(one.randomized)} − {encoding_label(one.plain)}"
        detail = f"{names}: {one.seeds} seeds, sign {one.sign}"
        if not interval:
            detail = f"{names}: one seed: no interval"
        ours[one.task, one.pair] = Value(100 * one.difference, interval=interval, detail=detail)
    columns = [Column(name, encoding_label(name)) for name in PLAIN if name != "none"]
    columns.append(Column(BEST, "Best − best"))
    notes.append(
        "Randomized minus plain at their best rates, paired by seed; 95 % bootstrap interval. An "
        "interval without zero tells the sign. The best of either side is chosen on the same "
        "scores, so that the intervals of the last column are too narrow."
    )
    notes += _single(ours)
    title = f"Randomized − plain. {SCORE}; mean difference over seeds [95 % interval]"
    rows = task_rows([task for task, _ in ours])
    cells_of = pair(ours, _paper_differences())
    return Table("comparison", title, "%", columns, rows, cells_of, notes, best=False, signed=True)


def _paper_differences() -> Values:
    means = {key: one.value for key, one in from_paper("means", "mean").items()}
    table: Values = {}
    for task in {task for task, _ in means}:
        for name in RANDOMIZED:
            plain = name.removeprefix("randomized-")
            table[task, plain] = Value(means[task, name] - means[task, plain])
        best = max(means[task, name] for name in RANDOMIZED)
        table[task, BEST] = Value(best - max(means[task, name] for name in PLAIN))
    return table


def _single(ours: Values) -> list[str]:
    """A note where some number has one seed only, which gives no interval."""
    lone = sum(value.interval is None for value in ours.values())
    return [f"One seed: no interval ({lone} of {len(ours)} cells)."] if lone else []

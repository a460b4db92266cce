"""Which runs may be compared: one budget, one way to draw positions, the same seeds and rates."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from randpos.facts import OWN_MODEL
from randpos.paper.looks import task_label, task_order
from randpos.results.scores import BUDGET, PAPER, counted_runs
from randpos.results.statistics import FEWEST
from randpos.results.variants import describe_variant

TRAINING = [name for name in BUDGET if name != "test_length"]
SHOWN_TASKS = 4
"""Tasks that a note lists by name; of more it gives the number."""


class Budget(NamedTuple):
    """What runs must share to be compared; the fields are those of `scores.BUDGET`."""

    variant: str
    training_length: int
    test_length: int
    steps: int
    batch: int

    @property
    def text(self) -> str:
        """The budget in words.

        >>> Budget("clip=0.5", 40, 200, 5000, 128).text
        '5,000 steps of 128 examples, N=40, M=200; clip=0.5'
        """
        words = f"{self.steps:,} steps of {self.batch:,} examples, "
        words += f"N={self.training_length:,}, M={self.test_length:,}"
        return f"{words}; {describe_variant(self.variant)}" if self.variant else words


PAPER_BUDGET = Budget("", PAPER.lengths.maximum, PAPER.test_length, PAPER.steps, PAPER.batch)


def budgets(scored: pl.DataFrame, setting: Sequence[str] = ()) -> list[Budget]:
    """Returns the budgets of the complete runs, that of the best evidence first.

    First comes the one with the most cells (pairs of a task and an encoding) of three or more
    seeds, which have an interval; then the one with the most cells; then the paper's model and
    training lengths, and more steps, larger batches and longer tests. Decoders come last.

    Args:
        scored: The runs.
        setting: The columns of a setting whose values are compared. Each value is then a cell of
            its own, and of budgets with equally many cells that of more runs comes first.
    """
    done = scored.filter(pl.col("status") == "complete")
    cell = ["task", "encoding", *setting]
    tested = pl.col("score").is_not_null()
    seeds = pl.col("seed").filter(tested).n_unique()
    by_cell = done.group_by(*BUDGET, *(name for name in cell if name not in BUDGET)).agg(
        seeds=seeds, runs=tested.sum()
    )
    counts = by_cell.group_by(BUDGET).agg(
        sure=(pl.col("seeds") >= FEWEST).sum(),
        cells=(pl.col("seeds") > 0).sum(),
        runs=pl.col("runs").sum() * bool(setting),
    )

    def rank(row: tuple) -> tuple:
        *fields, sure, cells, runs = row
        budget = Budget(*fields)
        decoder = "answers=autoregressive" in budget.variant
        foreign = (budget.variant, budget.training_length != PAPER.lengths.maximum)
        sizes = (-budget.steps, -budget.batch, -budget.test_length)
        return (decoder, -sure, -cells, -runs, *foreign, *sizes)

    return [Budget(*row[:-3]) for row in sorted(counts.iter_rows(), key=rank)]


def first_budget(scored: pl.DataFrame, setting: Sequence[str] = ()) -> Budget | None:
    """Returns the first of `budgets`; None if no run is complete."""
    return next(iter(budgets(scored, setting)), None)


def within(scored: pl.DataFrame, budget: Budget | None) -> pl.DataFrame:
    """Keeps the runs of a budget; without a budget, none.

    Models that were trained elsewhere are kept if N and M agree: their training is not known.
    """
    if budget is None:
        return scored.clear()
    alike = {name: pl.col(name) == value for name, value in budget._asdict().items()}
    tested_alike = alike["training_length"] & alike["test_length"]
    elsewhere = pl.col("encoding").str.starts_with(OWN_MODEL)
    return scored.filter(pl.all_horizontal(alike.values()) | (elsewhere & tested_alike))


def usual_maximum(scored: pl.DataFrame) -> pl.DataFrame:
    """Keeps the randomized runs of one L per task: that of most encodings; if tied, the paper's.

    Runs are compared within a task only, and a budget may choose L by the task's longest sequence.
    """
    drawn = scored.filter(pl.col("maximum").is_not_null())
    sizes = drawn.group_by("task", "maximum").agg(cells=pl.col("encoding").n_unique())
    foreign = pl.col("maximum") != PAPER.positions.maximum
    sizes = sizes.sort("task", -pl.col("cells").cast(pl.Int64), foreign, "maximum")
    return drawn.join(sizes.unique("task", keep="first"), on=["task", "maximum"], how="semi")


def usual_positions(scored: pl.DataFrame) -> pl.DataFrame:
    """Keeps the randomized runs whose positions were drawn in one way, and all ordinal ones.

    All encodings of a task have the L of `usual_maximum`. Each has the reading and draw of the
    paper's text, or else those that most of its tasks use.
    """
    drawn = usual_maximum(scored)
    ways = drawn.group_by("encoding", "reading", "draw").agg(
        pl.col("as_in_text").first(), tasks=pl.col("task").n_unique().cast(pl.Int64)
    )
    ways = ways.sort("encoding", ~pl.col("as_in_text"), -pl.col("tasks"), "reading", "draw")
    ways = ways.unique("encoding", keep="first")
    drawn = drawn.join(ways, on=["encoding", "reading", "draw"], how="semi")
    kept = pl.col("maximum").is_null() | pl.col("run").is_in(drawn["run"].implode())
    return scored.filter(kept)


def like_with_like(
    runs: pl.DataFrame,
    compared: Sequence[str],
    within: Sequence[str],
    on: Sequence[str] = ("seed", "learning_rate"),
) -> pl.DataFrame:
    """Keeps the seeds and rates that all compared settings have.

    The best of more runs is better by chance, and a single lucky seed may beat a mean of ten.

    Args:
        runs: Complete and tested runs.
        compared: The columns of the setting, such as `encoding`.
        within: The columns of a comparison, such as `task`.
        on: What the settings must share.

    Returns:
        The runs with a column `alike`; it is false, and all runs are kept, where the settings have
        nothing in common.
    """
    settings = pl.struct(compared).n_unique()
    shared = settings.over([*within, *on]) == settings.over(within)
    runs = runs.with_columns(shared=shared)
    alike = pl.col("shared").any().over(within)
    return runs.with_columns(alike=alike).filter(pl.col("shared") | ~alike).drop("shared")


def rivals(scored: pl.DataFrame, compared: Sequence[str], within: Sequence[str]) -> pl.DataFrame:
    """Keeps the complete runs that differ from another run in the compared setting only."""
    tested = counted_runs(scored)
    tested = tested.filter(pl.struct(compared).n_unique().over(within) > 1)
    return like_with_like(tested, compared, within)


class Selection(NamedTuple):
    """The runs of a table or figure, and the notes that say what they are."""

    runs: pl.DataFrame
    """Complete runs of one budget; those without a score count for running times only."""
    notes: list[str]
    """The budget first."""


def select(
    scored: pl.DataFrame, relevant: pl.DataFrame, budget: Budget | None, *, one_way: bool = True
) -> Selection:
    """Returns the relevant runs of one budget, and notes on how they were trained and tested.

    Args:
        scored: All runs.
        relevant: Those that the table could show.
        budget: The budget; by default `first_budget(relevant)`.
        one_way: Keep one way to draw randomized positions.
    """
    budget = budget or first_budget(relevant)
    chosen = within(relevant, budget)
    complete = chosen.filter(pl.col("status") == "complete")
    if one_way:
        complete = usual_positions(complete)
    if budget is None or complete.is_empty():
        return Selection(complete, ["No complete run."])
    words = [f"Budget: {budget.text}"]
    sizes = complete["maximum"].drop_nulls().unique().sort()
    if len(sizes):
        words.append("L=" + ", ".join(str(size) for size in sizes))
    notes = ["; ".join(words) + "."]
    if budget != PAPER_BUDGET:
        notes.append(f"The paper's: {PAPER_BUDGET.text}; L=2048; 10 seeds × 3 rates.")
    notes += _test_notes(complete, budget)
    # A run that diverged was not tested, so only its training decides whether it belongs here.
    alike = (pl.col(name) == getattr(budget, name) for name in TRAINING)
    diverged = relevant.filter(pl.col("status") == "diverged", *alike).height
    if diverged:
        notes.append(f"Not counted: {count(diverged, 'run')} that diverged.")
    external = complete.filter(pl.col("encoding").str.starts_with(OWN_MODEL))
    if external.height:
        notes.append(f"{count(external['encoding'].n_unique(), 'model')} trained elsewhere.")
    others = scored.filter(pl.col("status") == "complete").height - complete.height
    if others:
        notes.append(f"{count(others, 'complete run')} of other encodings or settings left out.")
    return Selection(complete, notes)


def _test_notes(runs: pl.DataFrame, budget: Budget) -> list[str]:
    """Says on how many examples, draws and lengths the runs were tested."""
    tested = runs.filter(pl.col("score").is_not_null())
    if tested.is_empty():
        return ["Not tested up to M."]
    words = f"Tested on {span(tested['tested_batch'])} examples of each length"
    words += f" with {count_range(tested['tested_draws'], 'draw')} of positions"
    seen, unseen = budget.training_length, budget.test_length - budget.training_length
    counts = [tested[name].to_list() for name in ("seen_lengths", "lengths")]
    if min(counts[0]) < seen or min(counts[1]) < unseen:
        words += f", at {span(counts[0])} of the {seen} lengths up to N and {span(counts[1])} of "
        words += f"the {unseen} beyond, the others interpolated"
    return [f"{words}."]


def seeds_note(runs: pl.DataFrame, cell: Sequence[str] = ("task", "encoding")) -> str:
    """Says how many seeds and rates each cell has.

    Args:
        runs: The runs that a table or figure is made of.
        cell: The columns that identify one of its numbers.
    """
    counts = runs.group_by(cell).agg(
        pl.col("seed", "learning_rate").n_unique(),
        *([] if "task" in cell else [pl.col("task").first()]),
    )
    groups = counts.group_by("seed", "learning_rate").agg(pl.len(), pl.col("task").unique())
    groups = groups.sort("len", "seed", "learning_rate", descending=True)
    words = []
    for seeds, rates, number, tasks in groups.iter_rows():
        where = "every cell" if groups.height == 1 else f"{count(number, 'cell')} ({_tasks(tasks)})"
        words.append(f"{count(seeds, 'seed')} × {count(rates, 'rate')} in {where}")
    return "; ".join(words) + "." if words else "No run."


def _tasks(tasks: Iterable[str]) -> str:
    names = task_order(tasks)
    if len(names) > SHOWN_TASKS:
        return count(len(names), "task")
    return ", ".join(map(task_label, names))


def alike_note(runs: pl.DataFrame) -> list[str]:
    """Names the tasks in which nothing is shared, of runs from `like_with_like`."""
    tasks = runs.filter(~pl.col("alike"))["task"].unique().to_list() if runs.height else []
    if not tasks:
        return []
    return [f"No seed and rate in common, so nothing to compare: {_tasks(tasks)}."]


def count(number: int, thing: str) -> str:
    """Writes a number of things.

    >>> count(1, "seed"), count(2000, "run")
    ('1 seed', '2,000 runs')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def count_range(values: Iterable[int], thing: str) -> str:
    """Writes a range of numbers of things.

    >>> count_range([1, 1], "seed"), count_range([1, 3], "seed")
    ('1 seed', '1 to 3 seeds')
    """
    numbers = list(values)
    return count(1, thing) if set(numbers) == {1} else f"{span(numbers)} {thing}s"


def span(values: Iterable[int]) -> str:
    """Writes the range of some numbers.

    >>> span([9, 9]), span([2, 1000])
    ('9', '2 to 1,000')
    """
    numbers = list(values)
    if not numbers:
        return "none"
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"

"""Budgets: which runs may stand in the same table, and what a table says about them."""

from typing import NamedTuple

import polars as pl

from randpos.experiment import Experiment
from randpos.results.scores import BUDGET

PAPER = Experiment()
TRAINING = ["variant", "training_length", "steps", "batch"]


class Budget(NamedTuple):
    """What runs must share to be compared; the fields are those of `scores.BUDGET`."""

    variant: str
    training_length: int
    test_length: int
    steps: int
    batch: int
    tested_batch: int

    @property
    def text(self) -> str:
        """The budget in words.

        >>> Budget("", 40, 200, 5000, 128, 64).text
        '5,000 steps of 128 examples, N=40, tested on 64 examples of each length up to M=200'
        """
        tested = f"tested on {self.tested_batch:,} examples of each length up to"
        if not self.tested_batch:
            tested = "not tested;"
        words = f"{self.steps:,} steps of {self.batch:,} examples, N={self.training_length:,}, "
        words += f"{tested} M={self.test_length:,}"
        return f"{words}; {self.variant}" if self.variant else words


PAPERS = Budget(
    "", PAPER.lengths.maximum, PAPER.test_length, PAPER.steps, PAPER.batch, PAPER.evaluation.batch
)
"""What the paper's tables are at."""


def usual(scored: pl.DataFrame) -> pl.DataFrame:
    """Keeps the runs whose positions were drawn as in the paper's text, with L = 2048."""
    return scored.filter(
        pl.col("reading") == PAPER.positions.reading,
        pl.col("draw") == PAPER.positions.draw,
        pl.col("maximum").is_null() | (pl.col("maximum") == PAPER.positions.maximum),
    )


def budgets(scored: pl.DataFrame) -> list[Budget]:
    """Returns the budgets of the complete runs, the largest first.

    The paper's model and its N = 40 come before all others; then more steps, larger batches and
    longer tests do. Runs that were not tested come last.
    """
    done = scored.filter(pl.col("status") == "complete").select(BUDGET).unique()

    def rank(budget: Budget) -> tuple:
        foreign = (budget.variant, budget.training_length != PAPER.lengths.maximum)
        sizes = (budget.steps, budget.batch, budget.test_length, budget.tested_batch)
        return (not budget.tested_batch, *foreign, *(-size for size in sizes))

    return sorted((Budget(*row) for row in done.iter_rows()), key=rank)


def within(scored: pl.DataFrame, budget: Budget | None) -> pl.DataFrame:
    """Keeps the runs of a budget; none of them where there is no budget."""
    if budget is None:
        return scored.clear()
    return scored.filter(*(pl.col(name) == value for name, value in budget._asdict().items()))


def choose(
    scored: pl.DataFrame, relevant: pl.DataFrame, budget: Budget | None
) -> tuple[pl.DataFrame, list[str]]:
    """Returns the relevant runs of one budget, and the notes that say what they are.

    Args:
        scored: All runs.
        relevant: Those that the table could show.
        budget: The budget asked for; None for the largest.
    """
    budget = budget or next(iter(budgets(relevant)), None)
    if budget is None:
        return relevant.clear(), ["No complete run."]
    chosen = within(relevant, budget)
    counted = chosen.filter(pl.col("status") == "complete")
    words = [f"Budget: {budget.text}"]
    drawn = counted["maximum"].drop_nulls().unique().sort()
    if len(drawn):
        words.append("L=" + ", ".join(str(maximum) for maximum in drawn))
    seeds, rates = counted["seed"].n_unique(), counted["learning_rate"].n_unique()
    words.append(f"{count(seeds, 'seed')} × {count(rates, 'rate')} at most")
    notes = ["; ".join(words) + "."]
    if budget != PAPERS:
        notes.append(f"The paper's: {PAPERS.text}; L=2048; 10 seeds × 3 rates.")
    lengths = counted["lengths"].drop_nulls()
    unseen = budget.test_length - budget.training_length
    if len(lengths) and lengths.min() != unseen:
        least = f"{lengths.min()} of the {unseen} lengths"
        notes.append(f"At least {least} were tested, the others interpolated.")
    # A run that diverged was not tested, so only its training tells whether it belongs here.
    alike = (pl.col(name) == getattr(budget, name) for name in TRAINING)
    diverged = relevant.filter(pl.col("status") == "diverged", *alike).height
    if diverged:
        notes.append(f"{count(diverged, 'run')} diverged and {_is(diverged)} not counted.")
    others = scored.filter(pl.col("status") == "complete").height - counted.height
    if others:
        notes.append(f"{count(others, 'complete run')} of other encodings or settings left out.")
    return chosen, notes


def count(number: int, thing: str) -> str:
    """Writes a number of things.

    >>> count(1, "seed"), count(2000, "run")
    ('1 seed', '2,000 runs')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"

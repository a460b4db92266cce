"""Budgets: which runs may stand in the same table, and what a table says about them."""

from typing import NamedTuple

import polars as pl

from randpos.config import Experiment
from randpos.report.scores import BUDGET

PAPER = Experiment()


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

"""The result of a store in one or two sentences."""

from collections import Counter

import polars as pl

from randpos.results.comparison import Comparison
from randpos.results.findings import comparisons
from randpos.results.selection import Budget, count
from randpos.results.tables.comparisons import EVERY, gains

SAME_SIGN, OPPOSITE = "same sign as in the paper", "opposite sign"


def headline(scored: pl.DataFrame, budget: Budget | None) -> list[str]:
    """Returns the mean gain by randomized positions, and how many pairs agree with the paper.

    Args:
        scored: The runs of a store, as `score_runs` returns them.
        budget: The budget that is shown.
    """
    found = comparisons(scored, budget) if budget else []
    if not found:
        return ["No randomized encoding has a plain one beside it yet."]
    return [*_mean_gain(scored, budget), _verdicts(found)]


def _mean_gain(scored: pl.DataFrame, budget: Budget | None) -> list[str]:
    table = gains(scored, budget)
    cell = table.cell(EVERY, table.columns[-1])
    if cell.ours is None or cell.paper is None:
        return []
    tasks = sum(table.cell(row, table.columns[-1]).ours is not None for row in table.rows) - 1
    gain = cell.ours.value
    verb = "gain" if gain >= 0 else "lose"
    return [
        f"Randomized positions {verb} {abs(gain):.1f} points of accuracy beyond the training "
        f"lengths, the mean over {count(tasks, 'task')} of the best randomized minus the best "
        f"other encoding. The paper has {cell.paper.value:+.1f} on the same tasks and encodings."
    ]


def _verdicts(found: list[Comparison]) -> str:
    """Counts the pairs whose difference is clear, and those that have the paper's sign."""
    verdicts = Counter(pair.verdict for pair in found)
    pairs = f"{count(len(found), 'pair')} of a randomized encoding and its plain form"
    clear = verdicts[SAME_SIGN] + verdicts[OPPOSITE] + verdicts["clear here only"]
    if clear:
        words = f"Of {pairs}, {clear} differ clearly (95 % interval over seeds without zero)"
        words += f": {verdicts[SAME_SIGN]} with the paper's sign, {verdicts[OPPOSITE]} against it"
        alone = verdicts["clear here only"]
        return words + (f", {alone} where the paper's is not clear." if alone else ".")
    reasons = ", ".join(f"{verdict} ({number})" for verdict, number in verdicts.most_common())
    return f"No clear difference in {pairs}: {reasons}."

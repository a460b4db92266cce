"""The result of a store in one or two sentences."""

from collections import Counter

import polars as pl

from randpos.results.comparison import Comparison
from randpos.results.findings import comparisons
from randpos.results.selection import Budget, count, count_range
from randpos.results.statistics import FEWEST
from randpos.results.tables.comparisons import EVERY, gains

SAME_SIGN, OPPOSITE = "same sign as in the paper", "opposite sign"


def headline(scored: pl.DataFrame, budget: Budget | None) -> list[str]:
    """Returns the mean gain by randomized positions, and how many pairs agree with the paper.

    Below three seeds the gain is given as a number only.

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
    every = [table.cell(row, table.columns[-1]) for row in table.rows if row != EVERY]
    seeds = [each.ours.seeds or 0 for each in every if each.ours and each.paper]
    gain = cell.ours.value
    points = "points of accuracy beyond the training lengths"
    ours = f"Randomized positions {'gain' if gain >= 0 else 'lose'} {abs(gain):.1f} {points}."
    if min(seeds) < FEWEST:
        ours = f"The mean gain is {gain:+.1f} {points}. Fewer than {FEWEST} seeds show no sign."
    return [
        f"{ours} It is the mean over {count(len(seeds), 'task')} of the best randomized minus the "
        f"best other encoding, each the maximum over {count_range(seeds, 'seed')}. The paper has "
        f"{cell.paper.value:+.1f} on the same tasks and encodings."
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

"""The result of a store in one or two sentences."""

from collections import Counter

import polars as pl

from randpos.results.comparison import Comparison, MeanDifference, mean_difference
from randpos.results.findings import comparisons
from randpos.results.selection import Budget, count
from randpos.results.statistics import FEWEST

SAME_SIGN, OPPOSITE = "same sign as in the paper", "opposite sign"


def headline(scored: pl.DataFrame, budget: Budget | None) -> list[str]:
    """Returns the mean gain by randomized positions, and how many pairs agree with the paper.

    It is called a gain or a loss only if its interval excludes zero.

    Args:
        scored: The runs of a store, as `score_runs` returns them.
        budget: The budget that is shown.
    """
    found = comparisons(scored, budget) if budget else []
    if not found:
        return ["No randomized encoding has a plain one beside it yet."]
    mean = mean_difference(found)
    return [*([_mean_gain(mean, found)] if mean else []), _verdicts(found)]


def _mean_gain(mean: MeanDifference, found: list[Comparison]) -> str:
    points = "points of accuracy beyond the training lengths"
    value, interval = mean.value, mean.interval
    if interval is None:
        first = f"The mean difference is {value:+.1f} {points}. "
        first += f"Fewer than {FEWEST} seeds show no sign."
    elif interval.sign == 0:
        ends = f"[{interval.low:+.1f}, {interval.high:+.1f}]"
        first = f"The mean difference is {value:+.1f} {ends} {points}, which is not clear."
    else:
        low, high = sorted(abs(end) for end in interval)
        verb = "gain" if interval.sign > 0 else "lose"
        first = f"Randomized positions {verb} {abs(value):.1f} [{low:.1f}, {high:.1f}] {points}."
    tasks = len({pair.task for pair in mean.pairs})
    words = f"{first} It is randomized minus plain, the mean over "
    words += f"{count(len(mean.pairs), 'pair')} of encodings on {count(tasks, 'task')} and over "
    words += f"{count(mean.seeds, 'seed')}{' [95 % interval]' if interval else ''}."
    if interval and mean.error is None:
        words += " The error of the test was not measured and is left out."
    neither = sum(not any(pair.learnt) for pair in found)
    if neither:
        words += f" Left out: {count(neither, 'pair')} learnt by neither side."
    if few := len(found) - neither - len(mean.pairs):
        words += f" Left out: {count(few, 'pair')} of fewer than {FEWEST} seeds."
    return words + (f" The paper has {mean.paper:+.1f}." if mean.paper is not None else "")


def _verdicts(found: list[Comparison]) -> str:
    """Counts the pairs whose difference is clear, and those that have the paper's sign."""
    verdicts = Counter(pair.verdict for pair in found)
    pairs = f"{count(len(found), 'pair')} of a randomized encoding and its plain form"
    clear = verdicts[SAME_SIGN] + verdicts[OPPOSITE] + verdicts["clear here only"]
    if clear:
        words = f"Of {pairs}, {clear} differ clearly (95 % interval without zero)"
        words += f": {verdicts[SAME_SIGN]} with the paper's sign, {verdicts[OPPOSITE]} against it"
        alone = verdicts["clear here only"]
        return words + (f", {alone} where the paper's is not clear." if alone else ".")
    reasons = ", ".join(f"{verdict} ({number})" for verdict, number in verdicts.most_common())
    return f"No clear difference in {pairs}: {reasons}."

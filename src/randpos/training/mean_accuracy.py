"""The score: the mean accuracy over a range of lengths, of one run or of thousands at once.

The paper's score is the mean over the lengths N+1..M, the in-domain accuracy that over 1..N.
Lengths between two tested ones are interpolated linearly, so that a sparse test weighs all lengths
alike.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from randpos.store.result import Accuracy

Range = tuple[pl.Expr, pl.Expr]
"""The first and the last length, both included."""
TERMS = ("sum", "variance", "unknown", "single", "steps", "squares")
"""Sums over the tested lengths: weighted accuracies and variances, lengths without an error,
lengths that count once, and pairs of neighbouring lengths with their squared differences."""


def mean_accuracies(
    accuracies: pl.DataFrame, by: Sequence[str], ranges: Mapping[str, Range]
) -> pl.DataFrame:
    """Returns the mean accuracy over ranges of lengths, for every group of tested lengths.

    The standard error follows from what was measured: from the `error` of every length where each
    was tested with several draws of positions, or from successive differences where every length
    was tested with a single draw. It is null otherwise, and does not cover the interpolation.

    Args:
        accuracies: Columns length, accuracy, those of `by` and of `ranges`, and optionally `error`
            (the standard error of the accuracy).
        by: The columns that identify one test of one model.
        ranges: The ranges by name, as expressions that are constant within a group.

    Returns:
        The columns of `by`, and for each range its mean `name` and standard error `name_error`;
        null where the tested lengths do not reach both ends of the range.
    """
    if "error" not in accuracies.columns:
        accuracies = accuracies.with_columns(error=pl.lit(None, pl.Float64))
    bounds = {
        f"{name}_{end}": bound.cast(pl.Int64)
        for name, ends in ranges.items()
        for end, bound in zip(("first", "last"), ends, strict=True)
    }
    rows = accuracies.lazy().with_columns(pl.col("length").cast(pl.Int64), **bounds)
    rows = rows.sort(*by, "length")
    # Flat vectors over all groups are much faster than expressions within each group.
    begins = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in by)
    rows = rows.with_columns(_begins=begins.fill_null(True)).with_columns(
        _before=pl.when(~pl.col("_begins")).then(pl.col("length").shift(1)),
        _change=pl.when(~pl.col("_begins")).then(pl.col("accuracy").diff()),
    )
    rows = rows.with_columns(_weights(name).alias(f"{name}_weight") for name in ranges)
    rows = rows.with_columns(term for name in ranges for term in _terms(name))
    ends = [pl.col("length").min().alias("shortest"), pl.col("length").max().alias("longest")]
    sums = rows.group_by(by, maintain_order=True).agg(
        *ends,
        *(pl.col(bound).first() for bound in bounds),
        *(pl.col(f"{name}_{term}").sum() for name in ranges for term in TERMS),
    )
    means = [column for name in ranges for column in _mean(name)]
    return sums.select(*by, *means).collect()


def _weights(name: str) -> pl.Expr:
    """Returns how often each tested length counts in the sum over a range."""
    length, before = pl.col("length"), pl.col("_before")
    first, last = pl.col(f"{name}_first"), pl.col(f"{name}_last")
    # The lengths n of the range in (before, length]: `count` of them, whose sum is `places`.
    low, high = pl.max_horizontal(before + 1, first), pl.min_horizontal(length, last)
    count = (high - low + 1).clip(0)
    places = (low + high) * count / 2
    to_right = (places - before * count) / (length - before)
    to_left = (length * count - places) / (length - before)
    inside = length.is_between(first, last).cast(pl.Float64)
    own = pl.when(before.is_null()).then(inside).otherwise(to_right)
    # The next row's share of this length; null where the next row begins another group.
    return own + pl.when(before.is_not_null()).then(to_left).shift(-1).fill_null(0.0)


def _terms(name: str) -> list[pl.Expr]:
    """Returns what is summed over a group: see TERMS."""
    weight, error = pl.col(f"{name}_weight"), pl.col("error")
    neighbours = (weight == 1) & (pl.col("_before") >= pl.col(f"{name}_first"))
    terms = {
        "sum": weight * pl.col("accuracy"),
        "variance": (weight * error) ** 2,
        "unknown": (weight > 0) & error.is_null(),
        "single": weight == 1,
        "steps": neighbours,
        "squares": pl.when(neighbours).then(pl.col("_change") ** 2),
    }
    return [terms[term].alias(f"{name}_{term}") for term in TERMS]


def _mean(name: str) -> tuple[pl.Expr, pl.Expr]:
    """Returns the mean over a range and its standard error, from the sums over a group."""
    first, last = pl.col(f"{name}_first"), pl.col(f"{name}_last")
    total, variance, unknown, single, steps, squares = (pl.col(f"{name}_{term}") for term in TERMS)
    lengths = last - first + 1
    covered = (pl.col("shortest") <= first) & (pl.col("longest") >= last) & (lengths > 0)
    measured = (
        pl.when(unknown == 0)
        .then(variance.sqrt() / lengths)
        # A difference of neighbours has twice the variance of one accuracy.
        .when((single == lengths) & (lengths >= 3))
        .then((squares / steps / 2 / lengths).sqrt())
    )
    return (
        pl.when(covered).then(total / lengths).alias(name),
        pl.when(covered).then(measured).alias(f"{name}_error"),
    )


def mean_accuracy(points: Sequence[Accuracy], first: int, last: int) -> float | None:
    """Returns the mean accuracy over the lengths first..last; None if they were not tested.

    >>> mean_accuracy([Accuracy(1, 1.0, 1.0), Accuracy(3, 0.0, 0.0)], 1, 3)
    0.5
    """
    table = pl.DataFrame(
        {
            "run": [0] * len(points),
            "length": [point.length for point in points],
            "accuracy": [point.accuracy for point in points],
        },
        schema={"run": pl.Int8, "length": pl.Int64, "accuracy": pl.Float64},
    )
    means = mean_accuracies(table, ["run"], {"mean": (pl.lit(first), pl.lit(last))})
    return means["mean"].item() if means.height else None


def score(points: Sequence[Accuracy], training_length: int, test_length: int) -> float | None:
    """Returns the paper's score: the mean accuracy over the lengths N+1..M."""
    return mean_accuracy(points, training_length + 1, test_length)


def in_domain(points: Sequence[Accuracy], training_length: int) -> float | None:
    """Returns the mean accuracy over the training lengths 1..N."""
    return mean_accuracy(points, 1, training_length)


def mean_where_tested(
    points: Sequence[Accuracy], first: int, last: int | None = None
) -> float | None:
    """Returns the mean accuracy from the first to the last tested length of a range.

    For tests that need not reach the ends of the range; None if no length of it was tested.

    >>> mean_where_tested([Accuracy(1, 1.0, 1.0), Accuracy(50, 0.5, 0.0)], 41)
    0.5
    """
    inside = [p.length for p in points if first <= p.length and (last is None or p.length <= last)]
    return mean_accuracy(points, min(inside), max(inside)) if inside else None

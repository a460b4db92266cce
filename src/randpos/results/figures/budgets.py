"""The budget behind a figure in one line: no result without what it cost."""

import polars as pl


def budget_line(runs: pl.DataFrame, tested: pl.DataFrame) -> str:
    """Says how the runs of a figure were trained and tested.

    Args:
        runs: The runs that a figure is made of.
        tested: Their accuracies.
    """
    parts = [
        f"{_values(runs, 'steps')} steps of batch {_values(runs, 'batch')}",
        f"N = {_values(runs, 'training_length')}",
        _count(runs, "seed") + " × " + _count(runs, "learning_rate", "learning rate"),
        f"{_values(tested, 'batch')} examples per tested length",
        f"{len(runs):,} runs",
    ]
    return "Budget: " + ", ".join(parts) + "."


def _values(table: pl.DataFrame, column: str) -> str:
    low, high = table[column].min(), table[column].max()
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _count(runs: pl.DataFrame, column: str, name: str | None = None) -> str:
    count = runs[column].n_unique()
    return f"{count} {name or column}{'' if count == 1 else 's'}"

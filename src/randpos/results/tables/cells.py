"""Values of cells: from our runs and from the paper's tables."""

from collections.abc import Callable, Iterable
from typing import Any

import polars as pl

from randpos.paper.looks import encoding_label, task_label
from randpos.paper.published import published_cells
from randpos.results.scores import cells
from randpos.results.selection import count
from randpos.results.tables.table import Cell, Value

SCORE = "Accuracy in %, averaged over the lengths beyond training"

Key = tuple[str, str]
Values = dict[Key, Value]
Data = dict[str, Any]
Read = Callable[[Data], Value | None]


def best_value(cell: Data) -> Value | None:
    """Returns the maximum over seeds and rates, in percent."""
    if cell["best"] is None:
        return None
    detail = f"best of {count(cell['runs'], 'run')} ({count(cell['seeds'], 'seed')} × "
    detail += f"{count(cell['rates'], 'rate')}): seed {cell['best_seed']}, rate "
    detail += f"{cell['best_rate']:g}"
    return Value(
        100 * cell["best"],
        in_domain=_percent(cell["best_in_domain"]),
        seeds=cell["seeds"],
        rates=cell["rates"],
        error=_in_percent(cell["best_error"]),
        detail=_detail(detail, cell, "best"),
        run=cell["run"],
    )


def mean_value(cell: Data) -> Value | None:
    """Returns mean and sd over the seeds of the best rate, in percent."""
    if cell["mean"] is None:
        return None
    return Value(
        100 * cell["mean"],
        None if cell["sd"] is None else 100 * cell["sd"],
        in_domain=_percent(cell["mean_in_domain"]),
        whole=_in_percent(cell["mean_whole"]),
        forced=_in_percent(cell["mean_forced"]),
        seeds=cell["rate_seeds"],
        error=_in_percent(cell["mean_error"]),
        detail=_detail(
            f"{count(cell['rate_seeds'], 'seed')} at rate {cell['rate']:g}", cell, "mean"
        ),
    )


def _percent(share: float | None) -> tuple[float, ...]:
    return () if share is None else (100 * share,)


def _in_percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _detail(text: str, cell: Data, kind: str) -> str:
    """Adds in-domain accuracy, error of the test and constant answers to a number's description."""
    if cell[f"{kind}_in_domain"] is not None:
        text += f"; in-domain {100 * cell[f'{kind}_in_domain']:.1f}"
    if cell[f"{kind}_error"] is not None:
        text += f"; standard error of the test {100 * cell[f'{kind}_error']:.1f}"
    return f"{text}; constant answers" if cell["constant"] else text


def values(runs: pl.DataFrame, read: Read) -> Values:
    """Reads a value from each task and encoding of runs that share a budget and a setting."""
    found = ((cell, read(cell)) for cell in cells(runs).iter_rows(named=True))
    return {(cell["task"], cell["encoding"]): value for cell, value in found if value}


def constant_note(runs: pl.DataFrame) -> list[str]:
    """Names the cells in which all runs give constant answers beyond the training lengths."""
    constant = cells(runs).filter("constant").select("task", "encoding").unique(maintain_order=True)
    if constant.is_empty():
        return []
    names = listed(constant.rows())
    return [f"Constant answers beyond N (at every length the accuracy of another run): {names}."]


def listed(pairs: Iterable[Key]) -> str:
    """Lists tasks and encodings by task.

    >>> listed([("even_pairs", "rope"), ("even_pairs", "none"), ("bucket_sort", "rope")])
    'Even Pairs: RoPE, None; Bucket Sort: RoPE'
    """
    by_task: dict[str, list[str]] = {}
    for task, encoding in pairs:
        by_task.setdefault(task_label(task), []).append(encoding_label(encoding))
    return "; ".join(f"{task}: {', '.join(names)}" for task, names in by_task.items())


def from_paper(table: str, statistic: str) -> Values:
    """Returns one statistic of a published table, means with their sd."""
    return {
        key: Value(cell[statistic], cell.get("sd") if statistic == "mean" else None)
        for key, cell in published_cells(table).items()
        if statistic in cell
    }


def beside(ours: Values, theirs: Values) -> dict[Key, Cell]:
    """Puts our values beside the paper's."""
    return {key: Cell(ours.get(key), theirs.get(key)) for key in [*ours, *theirs]}

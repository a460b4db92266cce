"""Values of cells: from our runs and from the paper's tables."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl

from randpos.paper.looks import encoding_label, task_label
from randpos.paper.published import published_cells
from randpos.results.scores import cells
from randpos.results.selection import count
from randpos.results.statistics import FEWEST, mean_interval, shared_error
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
        alike=cell["alike"],
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
        alike=cell["alike"],
        detail=_detail(
            f"{count(cell['rate_seeds'], 'seed')} at rate {cell['rate']:g}", cell, "mean"
        ),
    )


def interval_value(cell: Data) -> Value | None:
    """Returns the mean over the seeds of the best rate with its interval, in percent."""
    if cell["mean"] is None:
        return None
    percent = [100 * score for score in cell["scores"]]
    error = shared_error([_in_percent(error) for error in cell["errors"]])
    return Value(
        100 * cell["mean"],
        interval=mean_interval(percent, error),
        error=error,
        in_domain=_percent(cell["mean_in_domain"]),
        seeds=cell["rate_seeds"],
        alike=cell["alike"],
        detail=each_seed(percent),
    )


def interval_notes(ours: Iterable[Value]) -> list[str]:
    """Says what the intervals of a table are made of, and which ones lack something.

    Args:
        ours: The means or differences of scores.
    """
    every = list(ours)
    shown = [value for value in every if value.interval]
    notes = []
    if shown:
        notes.append(
            "Our 95 % intervals join Student's t interval over the seeds with the standard error "
            "of the test, which all seeds share."
        )
    if unknown := sum(value.error is None for value in shown):
        notes.append(
            f"The error of the test was not measured (one draw per length) and is left out: "
            f"{unknown} of {count(len(every), 'cell')}."
        )
    if few := sum((value.seeds or 0) < FEWEST for value in every):
        notes.append(
            f"No interval, and no sign, below {FEWEST} seeds: {few} of {len(every)} cells."
        )
    return notes


def each_seed(percent: Sequence[float], sign: str = "") -> str:
    """Writes the number of seeds and the value of each."""
    every = ", ".join(f"{value:{sign}.1f}" for value in percent)
    return f"{count(len(percent), 'seed')} ({every})"


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
    if cell["constant"]:
        text += f"; constant answers beyond N in {cell['constant']} of {count(cell['runs'], 'run')}"
    return text


def values(runs: pl.DataFrame, read: Read) -> Values:
    """Reads a value from each task and encoding of runs that share a budget and a setting."""
    found = ((cell, read(cell)) for cell in cells(runs).iter_rows(named=True))
    return {(cell["task"], cell["encoding"]): value for cell, value in found if value}


def constant_note(runs: pl.DataFrame) -> list[str]:
    """Names the cells with runs that give constant answers beyond the training lengths."""
    found = cells(runs).filter(pl.col("constant") > 0)
    if found.is_empty():
        return []
    names = listed(
        ((task, encoding), f"{constant} of {number}")
        for task, encoding, constant, number in found.select(
            "task", "encoding", "constant", "runs"
        ).iter_rows()
    )
    words = "Runs whose answers beyond N do not depend on the input"
    return [f"{words}: {names}."]


def listed(entries: Iterable[tuple[Key, str]]) -> str:
    """Lists tasks and encodings by task, each with a remark.

    >>> listed([(("even_pairs", "rope"), "1 of 3"), (("even_pairs", "none"), "")])
    'Even Pairs: RoPE 1 of 3, None'
    """
    by_task: dict[str, list[str]] = {}
    for (task, encoding), remark in entries:
        name = f"{encoding_label(encoding)} {remark}".rstrip()
        by_task.setdefault(task_label(task), []).append(name)
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

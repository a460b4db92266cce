"""Tables of the paper's open questions: L, draws per example, and the scale of attention."""

import json
from collections.abc import Sequence

import polars as pl

from randpos.paper.artifacts import OTHER_TASKS, RATIOS
from randpos.paper.looks import encoding_label, encoding_order, task_label, task_order
from randpos.results.questions import draw_runs, maximum_runs, scale_runs
from randpos.results.selection import Budget, seeds_note
from randpos.results.statistics import mean_interval, shared_error
from randpos.results.tables.cells import SCORE, beside, interval_notes, mean_value
from randpos.results.tables.encodings import alike_values, shared_runs
from randpos.results.tables.labels import task_row
from randpos.results.tables.table import Cell, Column, Row, Table, Value

MEANS = "mean over seeds [95 % interval, from three seeds on]"


def other_tasks(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Tasks of other benchmarks; each is compared within its own budget, which has its N and M."""
    ours, notes = {}, []
    for task in OTHER_TASKS:
        of_task = scored.filter(pl.col("task") == task)
        runs, about = shared_runs(of_task, pl.lit(True), budget, ("learning_rate",))
        ours |= alike_values(runs, mean_value)
        if runs.height:
            notes += [
                f"{task_label(task)}: {about[0]}",
                *about[1:],
                f"Mean over {seeds_note(runs)}",
            ]
    encodings = encoding_order({encoding for _, encoding in ours})
    columns = [Column(encoding, encoding_label(encoding)) for encoding in encodings]
    rows = [task_row(task) for task in task_order({task for task, _ in ours})]
    title = f"Other tasks. {SCORE}; mean ± sd over seeds at the best learning rate"
    notes = list(dict.fromkeys(notes)) or ["No complete run."]
    return Table("other-tasks", title, "%", columns, rows, beside(ours, {}), notes)


def choose_maximum(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """The score over L, as a multiple of the longest tested sequence."""
    runs, notes = maximum_runs(scored, budget)
    usual = [float(ratio.removesuffix("x")) for ratio in RATIOS]
    columns = [Column(f"{ratio:g}", f"{ratio:g} ×") for ratio in sorted({*usual, *runs["ratio"]})]
    runs = runs.with_columns(pl.col("ratio").map_elements(lambda x: f"{x:g}", pl.String))
    title = f"L as a multiple of the longest tested sequence. {SCORE}; {MEANS}"
    return _table("choose-L", title, runs, "ratio", columns, notes, "dropout")


def draws(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """One draw of positions for a batch, or one for each example."""
    runs, notes = draw_runs(scored, budget)
    runs = runs.with_columns(training=pl.col("curve").map_elements(_mean_of_curve, pl.Float64))
    ways = sorted({"per_batch", "per_example", *runs["draw"]})
    names = {way: way.replace("_", " ").capitalize() for way in ways}
    columns = [Column(way, names[way]) for way in ways]
    made = _table("draws", f"Draws of positions. {SCORE}; {MEANS}", runs, "draw", columns, notes)
    training = [Column(f"{way} training", f"{names[way]}, in training") for way in ways]
    cells = {
        (row, f"{way} training"): cell
        for (row, way), cell in _cells(runs, "draw", "training").items()
    }
    about = (
        "In training: the mean accuracy over all training steps. Its interval is over seeds alone."
    )
    notes = [*made.notes, about]
    return Table(
        made.name,
        made.title,
        "%",
        [*columns, *training],
        made.rows,
        made.cells | cells,
        notes,
        best=False,
    )


def peaked(scored: pl.DataFrame, budget: Budget | None = None) -> Table:
    """Logits scaled by 1/√d only, or also by the logarithm of the number of visible keys."""
    runs, notes = scale_runs(scored, budget)
    columns = [Column("constant", "1/√d"), Column("log", "log n/√d")]
    title = f"The scale of attention. {SCORE}; {MEANS}"
    return _table("peaked", title, runs, "attention_scale", columns, notes)


def _mean_of_curve(curve: str) -> float:
    accuracies = [row[2] for row in json.loads(curve)]
    return sum(accuracies) / len(accuracies) if accuracies else float("nan")


def _table(
    name: str,
    title: str,
    runs: pl.DataFrame,
    setting: str,
    columns: list[Column],
    notes: list[str],
    extra: str = "",
) -> Table:
    rows = _rows(runs, extra)
    cells = _cells(runs, setting, "score", extra)
    notes = [*notes, *interval_notes(cell.ours for cell in cells.values() if cell.ours)]
    return Table(name, title, "%", columns, rows, cells, notes, best=False)


def _rows(runs: pl.DataFrame, extra: str = "") -> list[Row]:
    """Returns a row for each task and encoding, and for each value of `extra` where it varies."""
    rows = []
    for task in task_order(set(runs["task"])):
        there = runs.filter(pl.col("task") == task)
        for encoding in encoding_order(set(there["encoding"])):
            values = there.filter(pl.col("encoding") == encoding)
            label = encoding_label(encoding)
            if not extra:
                rows.append(task_row(task, f"{task}\n{encoding}", label))
                continue
            rows += [
                task_row(task, f"{task}\n{encoding}\n{value:g}", f"{label}, {extra} {value:g}")
                for value in sorted(set(values[extra]))
            ]
    return rows


def _cells(
    runs: pl.DataFrame, setting: str, number: str, extra: str = ""
) -> dict[tuple[str, str], Cell]:
    """Returns the mean over seeds of each row and value of the setting."""
    keys = ["task", "encoding", *([extra] if extra else []), setting]
    found: dict[tuple[str, str], Cell] = {}
    for key, part in runs.group_by(keys, maintain_order=True):
        task, encoding, *more, value = key
        row = "\n".join([str(task), str(encoding), *(f"{x:g}" for x in more)])
        found[row, str(value)] = Cell(_value(part, number))
    return found


def _value(runs: pl.DataFrame, number: str) -> Value:
    percent: Sequence[float] = [100 * x for x in runs[number]]
    in_domain = [100 * x for x in runs["in_domain"].drop_nulls() if number == "score"]
    tested = runs["score_error"] if number == "score" else []
    error = shared_error([None if e is None else 100 * e for e in tested])
    return Value(
        sum(percent) / len(percent),
        interval=mean_interval(percent, error),
        error=error,
        in_domain=(sum(in_domain) / len(in_domain),) if in_domain else (),
        seeds=runs["seed"].n_unique(),
        detail="; ".join(
            f"seed {seed}: {value:.1f}" for seed, value in zip(runs["seed"], percent, strict=True)
        ),
    )

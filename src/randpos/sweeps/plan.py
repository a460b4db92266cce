"""What a sweep has to do: which runs are missing from a store, and the jobs that make them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from randpos.config import Experiment
from randpos.evaluation import lengths_to_test
from randpos.records import Records, read_records
from randpos.store import Store
from randpos.sweeps.grid import groups
from randpos.sweeps.work import Job


@dataclass(frozen=True)
class Plan:
    """How the runs of a sweep stand."""

    done: list[Experiment]
    failed: list[tuple[Experiment, str]]
    """Those that failed before, and why."""
    missing: list[Experiment]


def make_plan(experiments: Sequence[Experiment], store: Path, retry_failed: bool = False) -> Plan:
    """Compares the experiments with a store.

    Nothing is written, except that failures to be retried are forgiven.
    """
    plan = Plan([], [], [])
    if not store.is_dir():
        return Plan([], [], list(experiments))
    records = read_records(store)
    status = dict(records.runs.select("run", "status").iter_rows())
    reasons = dict(records.runs.select("run", "reason").iter_rows())
    tested = tested_lengths(records)
    for one in experiments:
        run, way = one.digest, one.evaluation
        state = status.get(run)
        lengths = tested.get((run, way.batch, way.seed), set())
        if state == "diverged" or (
            state == "complete" and lengths.issuperset(lengths_to_test(one))
        ):
            plan.done.append(one)
        elif reasons.get(run) is not None and not retry_failed:
            plan.failed.append((one, reasons[run]))
        else:
            plan.missing.append(one)
            if reasons.get(run) is not None:
                Store(store).run(one).forgive()
    return plan


def tested_lengths(records: Records) -> dict[tuple[str, int, int], set[int]]:
    """Returns the lengths at which each run was tested, by run, batch and seed of the test."""
    table = records.accuracies.group_by("run", "batch", "seed").agg(pl.col("length"))
    return {(run, batch, seed): set(lengths) for run, batch, seed, lengths in table.iter_rows()}


def make_jobs(missing: Iterable[Experiment], slots: int, most: int | None = None) -> list[Job]:
    """Cuts groups of runs into jobs: whole groups, unless that would leave workers without one.

    Args:
        missing: The runs to do.
        slots: How many jobs run at a time.
        most: The largest number of members of a job; by default as many as there are.
    """
    found = groups(missing)
    while len(found) < slots and any(len(group) > 1 for group in found):
        largest = max(found, key=len)
        place, half = found.index(largest), -(-len(largest) // 2)
        found[place : place + 1] = [largest[:half], largest[half:]]
    return [
        Job(tuple(group[first : first + (most or len(group))]))
        for group in found
        for first in range(0, len(group), most or len(group))
    ]

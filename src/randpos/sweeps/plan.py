"""What a sweep has to do: which runs are missing from a store, and the jobs that make them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from randpos.experiment import Experiment
from randpos.store.tables import StoreTables, read_store
from randpos.sweeps.grid import groups
from randpos.sweeps.work import Job
from randpos.training.evaluation import lengths_to_test


@dataclass(frozen=True)
class Plan:
    """How the runs of a sweep stand."""

    done: list[Experiment]
    failed: list[tuple[Experiment, str]]
    """Those that failed before, and why."""
    missing: list[Experiment]


def make_plan(experiments: Sequence[Experiment], store: Path, retry_failed: bool = False) -> Plan:
    """Compares the experiments with a store; nothing is written."""
    plan = Plan([], [], [])
    if not store.is_dir():
        return Plan([], [], list(experiments))
    records = read_store(store)
    status = dict(records.runs.select("run", "status").iter_rows())
    reasons = dict(records.runs.select("run", "reason").iter_rows())
    tested = fully_tested(experiments, records)
    for one in experiments:
        run = one.digest
        state, reason = status.get(run), reasons.get(run)
        if state == "diverged" or (state == "complete" and one in tested):
            plan.done.append(one)
        elif reason is not None and not retry_failed:
            plan.failed.append((one, reason))
        else:
            plan.missing.append(one)
    return plan


def fully_tested(experiments: Iterable[Experiment], records: StoreTables) -> set[Experiment]:
    """Returns the experiments that were tested at every length that they ask for."""
    alike: dict[tuple[int, int, int], list[Experiment]] = {}
    for one in experiments:
        asked = one.lengths.maximum, one.evaluation.stride, one.test_length
        alike.setdefault(asked, []).append(one)
    found = set()
    for members in alike.values():
        lengths = lengths_to_test(members[0])
        table = records.accuracies.filter(pl.col("length").is_in(lengths))
        counts = table.group_by("run", "batch", "seed").agg(pl.col("length").n_unique())
        whole = set(counts.filter(length=len(lengths)).drop("length").iter_rows())
        ways = ((one, (one.digest, one.evaluation.batch, one.evaluation.seed)) for one in members)
        found.update(one for one, way in ways if way in whole)
    return found


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

"""The plan of a sweep: which runs a store lacks, and the jobs that train them."""

import heapq
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from randpos.experiment import Experiment
from randpos.setup import resolve
from randpos.store.accuracies import WAY
from randpos.store.tables import StoreTables, read_store
from randpos.sweeps.estimate import testing, training
from randpos.sweeps.grid import groups
from randpos.sweeps.work import Job
from randpos.training.tested_lengths import earlier_lengths, lengths_to_test

MAX_IMBALANCE = 1.1
"""The last worker may end this much later than under a perfectly even load."""


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep by their state in the store."""

    done: list[Experiment]
    failed: list[tuple[Experiment, str]]
    """Runs that failed earlier, each with the reason."""
    missing: list[Experiment]


def make_plan(experiments: Sequence[Experiment], store: Path, retry_failed: bool = False) -> Plan:
    """Checks the experiments and compares them with a store; writes nothing."""
    for experiment in experiments:
        resolve(experiment)
    plan = Plan([], [], [])
    if not store.is_dir():
        return Plan([], [], list(experiments))
    tables = read_store(store)
    status = dict(tables.runs.select("run", "status").iter_rows())
    reasons = dict(tables.runs.select("run", "reason").iter_rows())
    tested = fully_tested(experiments, tables)
    for experiment in experiments:
        run = experiment.digest
        state, reason = status.get(run), reasons.get(run)
        if state == "diverged" or (state == "complete" and experiment in tested):
            plan.done.append(experiment)
        elif reason is not None and not retry_failed:
            plan.failed.append((experiment, reason))
        else:
            plan.missing.append(experiment)
    return plan


def fully_tested(experiments: Iterable[Experiment], tables: StoreTables) -> set[Experiment]:
    """Returns the experiments that were tested at every length that their settings ask for.

    Those that were tested at the lengths of an earlier rule count too: see `earlier_lengths`.
    """
    alike: dict[tuple[int, int, int], list[Experiment]] = {}
    for experiment in experiments:
        schedule, evaluation = experiment.lengths, experiment.evaluation
        asked = schedule.maximum, evaluation.stride, experiment.test_length
        alike.setdefault(asked, []).append(experiment)
    found = set()
    for members in alike.values():
        whole = set[tuple]()
        for lengths in (lengths_to_test(members[0]), earlier_lengths(members[0])):
            table = tables.accuracies.filter(pl.col("length").is_in(lengths))
            # Not lengths of two versions together: a run has no score that mixes them.
            counts = table.group_by("run", *WAY).agg(pl.col("length").n_unique())
            tested = counts.filter(length=len(lengths)).drop("length", "numerics")
            whole.update(tested.iter_rows())
        for member in members:
            way = member.evaluation
            if (member.digest, way.batch, way.seed, way.draw_count) in whole:
                found.add(member)
    return found


def make_jobs(
    missing: Iterable[Experiment],
    slots: int,
    max_jobs_per_slot: int = 1,
    max_members: int | None = None,
) -> list[Job]:
    """Cuts the runs into jobs, each with runs of one program.

    A program gives one job, unless that job would be longer than the share of a worker. Shares are
    halved, up to `max_jobs_per_slot` jobs per share, until the workers end at about the same time.
    The first jobs of all programs come first, so that workers that start at the same time compile
    different programs.

    Args:
        missing: The runs to do.
        slots: How many jobs run at the same time.
        max_jobs_per_slot: The largest number of jobs per worker to cut for an even load.
        max_members: The largest number of members of a job.
    """
    alike = groups(missing)
    costs = [training(group[0]) + testing(group[0]) for group in alike]
    total = sum(cost * len(group) for cost, group in zip(costs, alike, strict=True))
    divisor = 1
    while True:
        share = total / (slots * divisor)
        pieces = []
        for group, cost in zip(alike, costs, strict=True):
            parts = _cut(group, math.ceil(cost * len(group) / share * (1 - 1e-9)), max_members)
            pieces += [(i, cost * len(part), Job(tuple(part))) for i, part in enumerate(parts)]
        pieces.sort(key=lambda piece: piece[0])
        divisor *= 2
        uneven = _makespan([cost for _, cost, _ in pieces], slots) > MAX_IMBALANCE * total / slots
        if not uneven or divisor > max_jobs_per_slot:
            return [job for *_, job in pieces]


def _cut(
    group: Sequence[Experiment], count: int, max_members: int | None
) -> list[Sequence[Experiment]]:
    """Cuts a group into `count` parts of about the same size, or more if they are too large."""
    if max_members is not None:
        count = max(count, -(-len(group) // max_members))
    count = min(count, len(group))
    bounds = [len(group) * i // count for i in range(count + 1)]
    return [group[first:last] for first, last in itertools.pairwise(bounds)]


def _makespan(costs: Sequence[float], slots: int) -> float:
    """Returns when the last worker ends if each takes the next job as soon as it is free."""
    ends = [0.0] * slots
    for cost in costs:
        heapq.heapreplace(ends, ends[0] + cost)
    return max(ends)

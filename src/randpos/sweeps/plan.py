"""The plan of a sweep: which runs a store lacks, and the jobs that train them."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from randpos.experiment import Experiment
from randpos.store.tables import StoreTables, read_store
from randpos.sweeps.estimate import testing, training
from randpos.sweeps.grid import groups
from randpos.sweeps.work import Job
from randpos.training.evaluation import lengths_to_test


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep by their state in the store."""

    done: list[Experiment]
    failed: list[tuple[Experiment, str]]
    """Runs that failed earlier, each with the reason."""
    missing: list[Experiment]


def make_plan(experiments: Sequence[Experiment], store: Path, retry_failed: bool = False) -> Plan:
    """Compares the experiments with a store; writes nothing."""
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
    """Returns the experiments that were tested at every length that their settings ask for."""
    alike: dict[tuple[int, int, int], list[Experiment]] = {}
    for experiment in experiments:
        schedule, evaluation = experiment.lengths, experiment.evaluation
        asked = schedule.maximum, evaluation.stride, experiment.test_length
        alike.setdefault(asked, []).append(experiment)
    found = set()
    for members in alike.values():
        lengths = lengths_to_test(members[0])
        table = tables.accuracies.filter(pl.col("length").is_in(lengths))
        counts = table.group_by("run", "batch", "seed").agg(pl.col("length").n_unique())
        whole = set(counts.filter(length=len(lengths)).drop("length").iter_rows())
        for member in members:
            if (member.digest, member.evaluation.batch, member.evaluation.seed) in whole:
                found.add(member)
    return found


def make_jobs(
    missing: Iterable[Experiment],
    slots: int,
    jobs_per_slot: int = 1,
    max_members: int | None = None,
) -> list[Job]:
    """Cuts the runs into jobs, each with runs of one program.

    A program gives one job, unless that job would be longer than the share of a worker. The first
    job of every program comes first, so that workers that start at the same time compile different
    programs.

    Args:
        missing: The runs to do.
        slots: How many jobs run at the same time.
        jobs_per_slot: A job may take the share of a worker divided by this number.
        max_members: The largest number of members of a job.
    """
    alike = groups(missing)
    costs = [len(group) * (training(group[0]) + testing(group[0])) for group in alike]
    share = sum(costs) / (slots * jobs_per_slot)
    pieces = []
    for group, operations in zip(alike, costs, strict=True):
        count = math.ceil(operations / share * (1 - 1e-9))
        if max_members is not None:
            count = max(count, -(-len(group) // max_members))
        count = min(count, len(group))
        bounds = [len(group) * i // count for i in range(count + 1)]
        parts = [group[first:last] for first, last in itertools.pairwise(bounds)]
        pieces += [(i, Job(tuple(part))) for i, part in enumerate(parts)]
    return [job for _, job in sorted(pieces, key=lambda piece: piece[0])]

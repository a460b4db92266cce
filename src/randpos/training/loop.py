"""The training loop: advances the members of an ensemble and saves checkpoints."""

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from randpos.experiment import Experiment
from randpos.store import checkpoints
from randpos.store.folder import RunFolder
from randpos.training.background import compiled_ahead
from randpos.training.compilation import Compiling, silent
from randpos.training.engine import STEPS_PER_CALL, Engine
from randpos.training.member import ActiveMember, record, start_member
from randpos.training.periodic_tests import PeriodicTests
from randpos.training.step import Member, State
from randpos.training.tracking import Name as TrackerName

CHUNK = 100
"""Steps per recorded value of loss and accuracy; checkpoints are taken between chunks."""

Strategy = Literal["map", "vmap"]


class Progress(NamedTuple):
    """Where a member stands; reported after every call of the program."""

    member: int
    experiment: Experiment
    step: int
    loss: float
    accuracy: float
    seconds: float
    """Training time of this member so far, interruptions not counted."""
    score: float | None = None
    """The score of the last test during training, if there was one."""


def default_strategy() -> Strategy:
    """Returns how members of an ensemble are advanced best on this backend."""
    return "map" if jax.default_backend() == "cpu" else "vmap"


def advance_all(
    engine: Engine,
    members: Sequence[ActiveMember],
    *,
    report: Callable[[Progress], None] | None = None,
    save_every: float = 60.0,
    strategy: Strategy | None = None,
    compiling: Compiling = silent,
) -> None:
    """Advances the members that are farthest behind, chunk by chunk, until all have ended.

    Members may stand at different steps, as after an interruption.
    """
    strategy = strategy or default_strategy()
    active = list(members)
    tests = PeriodicTests(members[0].experiment, compiling) if members else None
    try:
        while active:
            groups = next_groups(active, strategy)
            first = groups[0][0].at.step
            last = min(first - first % CHUNK + CHUNK, active[0].experiment.steps)
            for group in groups:
                states, found = take_steps(engine, group, first, last, report, compiling)
                for member, state, metrics in zip(group, states, found, strict=True):
                    now = checkpoints.Checkpoint(last, state)
                    if tests is not None and tests.due(last):
                        member.score = tests.run(state, last, member.folder)
                    record(member, now, metrics)
                    if member.result is None and time.monotonic() - member.saved > save_every:
                        member.writer.save(*member.at)
                        member.saved = time.monotonic()
            active = [member for member in active if member.result is None]
    except KeyboardInterrupt:
        for member in active:
            if member.result is None:
                member.writer.save(*member.at)
        raise


def next_groups(active: Sequence[ActiveMember], strategy: Strategy) -> list[list[ActiveMember]]:
    """Returns the members that are farthest behind, in groups that take their steps together."""
    first = min(member.at.step for member in active)
    behind = [member for member in active if member.at.step == first]
    return [behind] if strategy == "vmap" else [[member] for member in behind]


def take_steps(
    engine: Engine,
    group: Sequence[ActiveMember],
    first: int,
    last: int,
    report: Callable[[Progress], None] | None,
    compiling: Compiling,
) -> tuple[list[State], Float[np.ndarray, "member metric step"]]:
    """Takes the steps of a chunk for all members of a group.

    Returns:
        The new states of the members, and their loss and accuracy at every step.
    """
    states, who = join(engine, group)
    found = []
    for begin in range(first, last, STEPS_PER_CALL):
        end = min(begin + STEPS_PER_CALL, last)
        engine.prepare(states, who, begin, end, compiling)
        clock = time.perf_counter()
        states, metrics = engine.advance_packed(states, who, begin, end)
        found.append(np.stack(metrics).reshape(2, len(group), -1))
        seconds = (time.perf_counter() - clock) / len(group)
        for i, member in enumerate(group):
            member.seconds += seconds
            if report is not None:
                loss, accuracy = np.mean(found[-1][:, i], axis=-1)
                place = (member.number, member.experiment, end)
                means = (float(loss), float(accuracy))
                report(Progress(*place, *means, member.seconds, member.score))
    states = jax.tree.map(np.asarray, states)
    apart = [states]
    if len(group) > 1:
        apart = [jax.tree.map(lambda x, i=i: x[i], states) for i in range(len(group))]
    values = np.moveaxis(np.concatenate(found, axis=-1), 1, 0)
    return [engine.unpack(state) for state in apart], values


def join(engine: Engine, group: Sequence[ActiveMember]) -> tuple[State, Member]:
    """Returns the packed states of a group, and its seeds and rates; of many members, stacked."""
    states = [engine.pack(member.at.arrays) for member in group]
    who = [member.seed_and_rate for member in group]
    if len(group) == 1:
        return states[0], who[0]
    return tuple(jax.tree.map(lambda *x: np.stack(x), *trees) for trees in (states, who))


def train_members(
    members: Sequence[Experiment],
    folders: Sequence[RunFolder],
    engine: Engine,
    *,
    report: Callable[[Progress], None] | None = None,
    save_every: float = 60.0,
    track: Sequence[TrackerName] = (),
    strategy: Strategy | None = None,
    compiling: Compiling = silent,
    ahead: bool = False,
) -> None:
    """Trains experiments that differ only in seed and learning rate, with the same programs.

    The caller holds the locks of the folders whose runs have not ended. With `ahead`, a thread
    compiles what later steps need; a process that has one core of many to itself has none for it.
    """
    strategy = strategy or default_strategy()
    with contextlib.ExitStack() as stack:
        active = []
        early = ahead and strategy == "map" and any(f.result() is None for f in folders)
        if early:  # before the parameters are there: their shapes are enough
            stack.enter_context(compiled_ahead(engine, *engine.shapes(members[0])))
        for number, (member, folder) in enumerate(zip(members, folders, strict=True)):
            # Read under the lock: another process may have ended the run before it released it.
            if folder.result() is not None:
                folder.drop_checkpoints()
                continue
            folder.create(member)
            active.append(start_member(engine, number, member, folder, track, stack))
        if ahead and active and not early:
            group = next_groups(active, strategy)[0]
            stack.enter_context(compiled_ahead(engine, *join(engine, group)))
        advance_all(
            engine,
            active,
            report=report,
            save_every=save_every,
            strategy=strategy,
            compiling=compiling,
        )

"""The training loop: advances the members of an ensemble and saves checkpoints."""

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from randpos.experiment import Experiment
from randpos.store import checkpoints
from randpos.store.folder import RunFolder
from randpos.training.compilation import Compiling, compile_once, silent
from randpos.training.member import ActiveMember, record, start_member
from randpos.training.periodic_tests import PeriodicTests
from randpos.training.step import STEPS_PER_CALL, Engine, Member, State
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
    compiled: set[int] = set()
    try:
        while active:
            first = min(member.at.step for member in active)
            behind = [member for member in active if member.at.step == first]
            last = min(first - first % CHUNK + CHUNK, behind[0].experiment.steps)
            for group in [behind] if strategy == "vmap" else [[member] for member in behind]:
                if len(group) not in compiled:
                    compiled.add(len(group))
                    with compiling("(once per task and encoding; cached)"):
                        start = jnp.asarray(first, jnp.int32)
                        compile_once(*stack_members(engine, group), start, start)
                states, found = take_steps(engine, group, first, last, report)
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


def stack_members(
    engine: Engine, group: Sequence[ActiveMember]
) -> tuple[jax.stages.Wrapped, State, Member]:
    """Returns the program that advances a group, and the states, seeds and rates of its members."""
    if len(group) == 1:
        return engine.advance, group[0].at.arrays, group[0].seed_and_rate
    states = jax.tree.map(lambda *x: jnp.stack(x), *(member.at.arrays for member in group))
    who = jax.tree.map(lambda *x: jnp.stack(x), *(member.seed_and_rate for member in group))
    return engine.together, states, who


def take_steps(
    engine: Engine,
    group: Sequence[ActiveMember],
    first: int,
    last: int,
    report: Callable[[Progress], None] | None,
) -> tuple[list[State], Float[np.ndarray, "member metric step"]]:
    """Takes the steps of a chunk for all members of a group.

    Returns:
        The new states of the members, and their loss and accuracy at every step.
    """
    advance, states, who = stack_members(engine, group)
    found = []
    for begin in range(first, last, STEPS_PER_CALL):
        end, clock = min(begin + STEPS_PER_CALL, last), time.perf_counter()
        bounds = jnp.asarray(begin, jnp.int32), jnp.asarray(end, jnp.int32)
        states, metrics = advance(states, who, *bounds)
        # [metric, member, step]; fetching it waits for the device.
        values = np.stack([np.asarray(m) for m in metrics]).reshape(2, len(group), -1)
        found.append(values[:, :, : end - begin])
        seconds = (time.perf_counter() - clock) / len(group)
        for i, member in enumerate(group):
            member.seconds += seconds
            if report is not None:
                loss, accuracy = np.mean(found[-1][:, i], axis=-1)
                place = (member.number, member.experiment, end)
                means = (float(loss), float(accuracy))
                report(Progress(*place, *means, member.seconds, member.score))
    apart = [states]
    if len(group) > 1:
        apart = [jax.tree.map(lambda x, i=i: x[i], states) for i in range(len(group))]
    return apart, np.moveaxis(np.concatenate(found, axis=-1), 1, 0)


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
) -> None:
    """Trains experiments that differ only in seed and learning rate, as one program.

    The caller holds the locks of the folders whose runs have not ended.
    """
    with contextlib.ExitStack() as stack:
        active = []
        for number, (member, folder) in enumerate(zip(members, folders, strict=True)):
            # Read under the lock: another process may have ended the run before it released it.
            if folder.result() is not None:
                folder.drop_checkpoints()
                continue
            folder.create(member)
            active.append(start_member(engine, number, member, folder, track, stack))
        advance_all(
            engine,
            active,
            report=report,
            save_every=save_every,
            strategy=strategy,
            compiling=compiling,
        )

"""The training loop: advances the members of an ensemble, records metrics, saves checkpoints."""

import contextlib
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy
from jaxtyping import Float

from randpos.experiment import Experiment
from randpos.store import checkpoints
from randpos.store.files import write_atomic
from randpos.store.folder import RunFolder
from randpos.store.result import CurvePoint, Ending, Result
from randpos.training.compilation import Compiling, compile_once, silent
from randpos.training.periodic_tests import PeriodicTests
from randpos.training.step import STEPS_PER_CALL, Engine, Member, State, make_member
from randpos.training.tracking import TRACKERS, Tracker
from randpos.training.tracking import Name as TrackerName

CHUNK = 100
"""Steps per recorded value of loss and accuracy; checkpoints are taken between chunks."""

POINTS = 50
"""Points of the learning curve that a run's result carries."""

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


@dataclass
class ActiveMember:
    """A member under training."""

    number: int
    experiment: Experiment
    folder: RunFolder
    at: checkpoints.Checkpoint
    """Its step and state, in one attribute: an interrupt never finds one without the other."""
    seconds: float
    writer: checkpoints.Writer
    trackers: list[Tracker]
    saved: float = field(default_factory=time.monotonic)
    score: float | None = None
    """The score of the last test during training."""
    result: Result | None = None
    """How it ended, once it has."""

    @property
    def seed_and_rate(self) -> Member:
        """The seed and the rate: all that differs between members."""
        return make_member(self.experiment)

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"seed {self.experiment.seed}, rate {self.experiment.learning_rate:g}"


def default_strategy() -> Strategy:
    """Returns how members of an ensemble are advanced best on this backend."""
    return "map" if jax.default_backend() == "cpu" else "vmap"


def start_member(
    engine: Engine,
    number: int,
    experiment: Experiment,
    folder: RunFolder,
    track: Sequence[TrackerName],
    stack: contextlib.ExitStack,
) -> ActiveMember:
    """Initialises a member, or restores its newest intact checkpoint.

    `stack` closes its writer and trackers, also after an error.
    """
    who = make_member(experiment)
    found = checkpoints.load_newest(folder.checkpoints, jax.eval_shape(engine.start, who))
    if found is None:
        compile_once(engine.start, who)
    at = found or checkpoints.Checkpoint(0, engine.start(who))
    folder.rewind("metrics.jsonl", at.step)
    folder.rewind("timing.jsonl", at.step)
    folder.rewind("tests.jsonl", at.step)
    times = folder.lines("timing.jsonl")
    writer = checkpoints.Writer(folder.checkpoints)
    stack.callback(writer.close)
    trackers = []
    for name in track:
        trackers.append(TRACKERS[name](experiment, folder.path))
        stack.callback(trackers[-1].close)
    return ActiveMember(
        number=number,
        experiment=experiment,
        folder=folder,
        at=at,
        seconds=float(times[-1].get("seconds", 0.0)) if times else 0.0,
        writer=writer,
        trackers=trackers,
    )


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


def record(
    member: ActiveMember, now: checkpoints.Checkpoint, metrics: Float[np.ndarray, "metric step"]
) -> None:
    """Writes a chunk's metrics; ends the run after its last step or if the loss is not finite.

    On interrupt the state is from before the chunk; resuming drops the extra log lines.
    """
    loss, accuracy = (float(np.mean(values, dtype=np.float64)) for values in metrics)
    if not math.isfinite(loss):
        bad = now.step - metrics.shape[1] + int(np.argmax(~np.isfinite(metrics[0])))
        warnings.warn(
            f"{member.name} diverged at step {bad}: its loss is not finite.", stacklevel=2
        )
        end(member, "diverged", bad)
        return
    row = {"loss": loss, "accuracy": accuracy}
    member.folder.append("metrics.jsonl", {"step": now.step, **row})
    member.folder.append("timing.jsonl", {"step": now.step, "seconds": member.seconds})
    for tracker in member.trackers:
        tracker.log(now.step, row)
    if now.step == member.experiment.steps:
        arrays = checkpoints.named_arrays(now.arrays.model)
        write_atomic(member.folder.parameters, safetensors.numpy.save(arrays))
        end(member, "complete", now.step)
    member.at = now


def end(member: ActiveMember, status: Ending, step: int) -> None:
    """Writes the result of a member; it is never trained again."""
    member.writer.wait()
    curve = learning_curve(member.folder.lines("metrics.jsonl"))
    result = Result(status, step, member.seconds, tuple(curve))
    member.folder.finish(result)
    member.result = result
    member.folder.drop_checkpoints()


def learning_curve(rows: Sequence[dict[str, Any]]) -> list[CurvePoint]:
    """Averages metrics over at most `POINTS` equal spans.

    >>> learning_curve([{"step": 100, "loss": 0.7, "accuracy": 0.5}])
    [CurvePoint(step=100, loss=0.7, accuracy=0.5)]
    """
    rows = [row for row in rows if {"loss", "accuracy"} <= row.keys()]
    spans = np.array_split(np.arange(len(rows)), min(POINTS, len(rows)) or 1)
    return [
        CurvePoint(
            rows[span[-1]]["step"],
            *(float(np.mean([rows[i][name] for i in span])) for name in ("loss", "accuracy")),
        )
        for span in spans
        if len(span)
    ]

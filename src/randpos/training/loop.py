"""Training on the host's side: members of an ensemble, advanced, recorded and saved."""

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
from randpos.training.on_the_way import TestsOnTheWay
from randpos.training.step import STRIDE, Engine, Member, State, member
from randpos.training.tracking import TRACKERS, Tracker
from randpos.training.tracking import Name as TrackerName

CHUNK = 100
"""Steps per recorded value of loss and accuracy; checkpoints are taken between chunks."""

POINTS = 50
"""Points of the learning curve that a run's result carries."""

Strategy = Literal["map", "vmap"]


class Progress(NamedTuple):
    """Where a member stands; reported after every chunk of steps."""

    member: int
    experiment: Experiment
    step: int
    loss: float
    accuracy: float
    seconds: float
    """Training time of this member so far, interruptions not counted."""
    score: float | None = None
    """The score of the last test on the way, if there was one."""


@dataclass
class Trainee:
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
    """The score of the last test on the way."""
    result: Result | None = None
    """How it ended, once it has."""

    @property
    def member(self) -> Member:
        """Its seed and learning rate."""
        return member(self.experiment)

    @property
    def name(self) -> str:
        """What it is called in messages."""
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
) -> Trainee:
    """Initialises a member, or takes it up from its newest intact checkpoint.

    What it writes to is closed by `stack`, whatever fails on the way.
    """
    like = jax.eval_shape(engine.start, member(experiment))
    found = checkpoints.load_newest(folder.checkpoints, like)
    at = found or checkpoints.Checkpoint(0, engine.start(member(experiment)))
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
    return Trainee(
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
    trainees: Sequence[Trainee],
    *,
    report: Callable[[Progress], None] | None = None,
    save_every: float = 60.0,
    strategy: Strategy | None = None,
) -> None:
    """Advances the members that are farthest behind, chunk by chunk, until all have ended.

    Members may stand at different steps, as after an interruption.
    """
    strategy = strategy or default_strategy()
    active = list(trainees)
    tests = TestsOnTheWay(trainees[0].experiment) if trainees else None
    try:
        while active:
            first = min(one.at.step for one in active)
            behind = [one for one in active if one.at.step == first]
            last = min(first - first % CHUNK + CHUNK, behind[0].experiment.steps)
            for group in [behind] if strategy == "vmap" else [[one] for one in behind]:
                states, found = take_steps(engine, group, first, last, report)
                for one, state, metrics in zip(group, states, found, strict=True):
                    now = checkpoints.Checkpoint(last, state)
                    if tests is not None and tests.due(last):
                        one.score = tests.run(state, last, one.folder)
                    record(one, now, metrics)
                    if one.result is None and time.monotonic() - one.saved > save_every:
                        one.writer.save(*one.at)
                        one.saved = time.monotonic()
            active = [one for one in active if one.result is None]
    except KeyboardInterrupt:
        for one in active:
            if one.result is None:
                one.writer.save(*one.at)
        raise


def take_steps(
    engine: Engine,
    group: Sequence[Trainee],
    first: int,
    last: int,
    report: Callable[[Progress], None] | None,
) -> tuple[list[State], Float[np.ndarray, "member metric step"]]:
    """Takes the steps of a chunk for all members of a group.

    Returns:
        The new states of the members, and their loss and accuracy at every step.
    """
    alone = len(group) == 1
    advance = engine.advance if alone else engine.together
    states, who = group[0].at.arrays, group[0].member
    if not alone:
        states = jax.tree.map(lambda *x: jnp.stack(x), *(one.at.arrays for one in group))
        who = jax.tree.map(lambda *x: jnp.stack(x), *(one.member for one in group))
    # Taking no steps compiles the program, so that compiling is not counted as training.
    start = jnp.asarray(first, jnp.int32)
    jax.block_until_ready(advance(states, who, start, start))
    found = []
    for begin in range(first, last, STRIDE):
        end, clock = min(begin + STRIDE, last), time.perf_counter()
        bounds = jnp.asarray(begin, jnp.int32), jnp.asarray(end, jnp.int32)
        states, metrics = advance(states, who, *bounds)
        # [metric, member, step]; fetching it waits for the device.
        values = np.stack([np.asarray(m) for m in metrics]).reshape(2, len(group), -1)
        found.append(values[:, :, : end - begin])
        seconds = (time.perf_counter() - clock) / len(group)
        for i, one in enumerate(group):
            one.seconds += seconds
            if report is not None:
                loss, accuracy = np.mean(found[-1][:, i], axis=-1)
                place = (one.number, one.experiment, end)
                means = (float(loss), float(accuracy))
                report(Progress(*place, *means, one.seconds, one.score))
    each = range(len(group))
    apart = [states] if alone else [jax.tree.map(lambda x, i=i: x[i], states) for i in each]
    return apart, np.moveaxis(np.concatenate(found, axis=-1), 1, 0)


def record(
    one: Trainee, now: checkpoints.Checkpoint, metrics: Float[np.ndarray, "metric step"]
) -> None:
    """Writes down a chunk; ends the run if that was the last one or the loss is not finite.

    The member moves on only when the chunk is written: whoever interrupts this meets a member from
    before the chunk, and lines too many, which resuming drops.
    """
    loss, accuracy = (float(np.mean(values, dtype=np.float64)) for values in metrics)
    if not math.isfinite(loss):
        bad = now.step - metrics.shape[1] + int(np.argmax(~np.isfinite(metrics[0])))
        warnings.warn(f"{one.name} diverged at step {bad}: its loss is not finite.", stacklevel=2)
        end(one, "diverged", bad)
        return
    row = {"loss": loss, "accuracy": accuracy}
    one.folder.append("metrics.jsonl", {"step": now.step, **row})
    one.folder.append("timing.jsonl", {"step": now.step, "seconds": one.seconds})
    for tracker in one.trackers:
        tracker.log(now.step, row)
    if now.step == one.experiment.steps:
        arrays = checkpoints.named_arrays(now.arrays.model)
        write_atomic(one.folder.parameters, safetensors.numpy.save(arrays))
        end(one, "complete", now.step)
    one.at = now


def end(one: Trainee, status: Ending, step: int) -> None:
    """Writes down how a member ended, after which it is never trained again."""
    one.writer.wait()
    curve = learning_curve(one.folder.lines("metrics.jsonl"))
    result = Result(status, step, one.seconds, tuple(curve))
    one.folder.finish(result)
    one.result = result
    one.folder.drop_checkpoints()


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

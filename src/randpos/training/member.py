"""A member of an ensemble while it trains: its state, its metrics and its result."""

import contextlib
import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import safetensors.numpy
from jaxtyping import Float

from randpos.experiment import Experiment
from randpos.store import checkpoints
from randpos.store.files import write_atomic
from randpos.store.folder import RunFolder
from randpos.store.result import CurvePoint, Ending, Result
from randpos.training.compilation import compile_once
from randpos.training.engine import Engine
from randpos.training.step import Member, make_member
from randpos.training.tracking import TRACKERS, Tracker
from randpos.training.tracking import Name as TrackerName

POINTS = 50
"""Points of the learning curve that a run's result carries."""


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

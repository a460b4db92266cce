"""The work of a sweep: jobs, what happens to their runs, and how one job is done in one process."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from randpos.config import Experiment
from randpos.errors import StorageError, UserError
from randpos.evaluation import Evaluator, lengths_to_test
from randpos.results import read_accuracies
from randpos.runs import examine, train_members
from randpos.store import BusyError, RunFolder, Store
from randpos.trainer import Progress

State = Literal["training", "testing", "done", "failed", "elsewhere"]


@dataclass(frozen=True)
class Event:
    """Something that happened to a run."""

    run: str
    state: State
    step: int = 0
    loss: float = 0.0
    accuracy: float = 0.0
    reason: str = ""
    """Why it failed."""


Emit = Callable[[Event], None]


@dataclass(frozen=True)
class Job:
    """Runs that share one program, so that one worker does them together."""

    members: tuple[Experiment, ...]
    attempts: int = 0
    """How often a worker has died over it."""

    @property
    def runs(self) -> tuple[str, ...]:
        """The digests of its runs."""
        return tuple(one.digest for one in self.members)


@dataclass
class Claims:
    """The runs of a job that this process may work on, and the locks that say so."""

    mine: list[Experiment] = field(default_factory=list)
    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> "Claims":
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()


def claim(members: Sequence[Experiment], store: Path, emit: Emit) -> Claims:
    """Takes every run that nobody else works on; the others are reported as `elsewhere`."""
    claims = Claims()
    for one in members:
        folder = Store(store).run(one)
        try:
            claims.stack.callback(folder.lock().release)
        except BusyError:
            emit(Event(one.digest, "elsewhere"))
            continue
        except BaseException:
            claims.stack.close()
            raise
        claims.mine.append(one)
    return claims


def is_done(experiment: Experiment, folder: RunFolder) -> bool:
    """Tells whether a run is trained and tested as its experiment asks, or has diverged."""
    result = folder.result()
    if result is None:
        return False
    if result["status"] == "diverged":
        return True
    tested = {accuracy.length for accuracy in read_accuracies(folder.path, experiment)}
    return tested.issuperset(lengths_to_test(experiment))


def perform(members: Sequence[Experiment], store: Path, emit: Emit, save_every: float) -> None:
    """Trains and tests runs whose locks the caller holds, reporting what happens to each.

    A run that fails says why and does not stop the others of its job.
    """
    folders = [Store(store).run(one) for one in members]

    def report(progress: Progress) -> None:
        run = progress.experiment.digest
        emit(Event(run, "training", progress.step, progress.loss, progress.accuracy))

    for one in members:
        emit(Event(one.digest, "training"))
    try:
        train_members(members, folders, report=report, save_every=save_every)
    except StorageError:
        raise
    except Exception as error:
        if len(members) == 1:
            give_up(members[0], folders[0], error, emit)
        else:  # one of them is to blame: each alone, and the others come through
            for one in members:
                perform([one], store, emit, save_every)
        return
    evaluator = Evaluator(members[0])
    for one, folder in zip(members, folders, strict=True):
        emit(Event(one.digest, "testing", one.steps))
        try:
            examine(folder, one, evaluator)
        except StorageError:
            raise
        except Exception as error:
            give_up(one, folder, error, emit)
        else:
            emit(Event(one.digest, "done", one.steps))


def give_up(one: Experiment, folder: RunFolder, error: Exception, emit: Emit) -> None:
    """Records that a run failed, and why."""
    folder.fail(describe(error))
    emit(Event(one.digest, "failed", reason=describe(error)))


def describe(error: BaseException) -> str:
    """Says in one line what went wrong."""
    text = " ".join(str(error).split()) or "no message"
    return text[:500] if isinstance(error, UserError) else f"{type(error).__name__}: {text[:500]}"

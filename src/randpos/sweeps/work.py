"""The work of a sweep: jobs, what happens to their runs, and how one job is done in one process."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from randpos.errors import StorageError, UserError
from randpos.experiment import Experiment
from randpos.run import examine, train_members
from randpos.store.folder import RunFolder, Store
from randpos.store.lock import BusyError
from randpos.training.evaluation import Accuracy, Evaluator
from randpos.training.loop import Progress

State = Literal["training", "testing", "done", "failed", "elsewhere", "queued"]


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
    """Takes every run that nobody else works on; the others are reported as `elsewhere`.

    A run that another sweep has failed at meanwhile has failed for this one too.
    """
    claims = Claims()
    with contextlib.ExitStack() as stack:
        for one in members:
            folder = Store(store).run(one)
            try:
                lock = folder.lock()
            except BusyError:
                emit(Event(one.digest, "elsewhere"))
                continue
            except StorageError:
                raise
            except UserError as error:  # there is a link in its folder
                emit(Event(one.digest, "failed", reason=str(error)))
                continue
            stack.callback(lock.release)
            if (reason := hindrance(one, folder)) is not None:
                emit(Event(one.digest, "failed", reason=reason))
            else:
                claims.mine.append(one)
        claims.stack = stack.pop_all()
    return claims


def hindrance(one: Experiment, folder: RunFolder) -> str | None:
    """Says why a run cannot be worked on, if so: it failed, or its folder holds something else."""
    try:
        if (folder.path / "config.json").exists() and folder.experiment().digest != one.digest:
            return f"{folder.path} does not hold the run that its name says."
        return folder.failure()
    except StorageError:
        raise
    except UserError as error:
        return str(error)


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

        def tell(_: Accuracy | None = None, one: Experiment = one) -> None:
            emit(Event(one.digest, "testing", one.steps))

        tell()
        try:
            examine(folder, one, evaluator, tell)
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

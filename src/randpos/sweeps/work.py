"""Jobs, the events of their runs, and how one process runs a job."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from randpos.errors import StorageError, UserError
from randpos.experiment import Experiment
from randpos.store.folder import RunFolder, Store
from randpos.store.lock import BusyError
from randpos.store.result import Accuracy
from randpos.sweeps.grid import program
from randpos.training.engine import Engine
from randpos.training.evaluation import Evaluator
from randpos.training.loop import Progress, train_members
from randpos.training.run_evaluation import evaluate_run

State = Literal["compiling", "training", "testing", "done", "failed", "elsewhere", "queued"]


@dataclass(frozen=True)
class Event:
    """A change in the state of a run."""

    run: str
    """The digest of the run."""
    state: State
    step: int = 0
    loss: float = 0.0
    accuracy: float = 0.0
    length: int = 0
    """The length that was tested last."""
    reason: str = ""
    """Why the run failed."""


Emit = Callable[[Event], None]


@dataclass(frozen=True)
class Job:
    """Runs that share one compiled program; one worker trains them together."""

    members: tuple[Experiment, ...]
    deaths: int = 0
    """How many workers have died while they ran it."""
    kills: int = 0
    """How often the only worker was killed from outside while it ran it."""

    @functools.cached_property
    def program(self) -> Experiment:
        """The settings that decide the program; the members differ in seed and rate only."""
        return program(self.members[0])

    def to_order(self, store: Path, save_every: float) -> dict[str, Any]:
        """Returns the job as JSON data for a worker process."""
        members = [member.to_dict() for member in self.members]
        return {"members": members, "store": str(store), "save_every": save_every}


def describe_run(experiment: Experiment) -> str:
    """Returns what tells a run from the others of a sweep."""
    seed, rate = experiment.seed, experiment.learning_rate
    return f"{experiment.task} {experiment.encoding} seed {seed} rate {rate:g}"


@contextlib.contextmanager
def claim(members: Sequence[Experiment], store: Path, emit: Emit) -> Iterator[list[Experiment]]:
    """Locks every run that no other process works on, and yields these runs.

    Runs that another process works on are reported as `elsewhere`. Runs that another sweep has
    recorded as failed are reported as `failed`.
    """
    with contextlib.ExitStack() as stack:
        claimed = []
        for member in members:
            folder = Store(store).run(member)
            try:
                lock = folder.lock()
            except BusyError:
                emit(Event(member.digest, "elsewhere"))
                continue
            except StorageError:
                raise
            except UserError as error:  # the folder contains a symbolic link
                emit(Event(member.digest, "failed", reason=str(error)))
                continue
            stack.callback(lock.release)
            if (reason := find_failure(member, folder)) is not None:
                emit(Event(member.digest, "failed", reason=reason))
            else:
                claimed.append(member)
        yield claimed


def find_failure(member: Experiment, folder: RunFolder) -> str | None:
    """Returns why a run cannot be trained: it has failed, or its folder holds another run."""
    try:
        if (folder.path / "config.json").exists() and folder.experiment().digest != member.digest:
            return (
                f"{folder.path} holds another run; its name must be the digest of its config.json."
            )
        return folder.failure()
    except StorageError:
        raise
    except UserError as error:
        return str(error)


class Programs:
    """The programs of a process's last job: a job with the same program does not trace it again.

    Only those of one job are kept, because each takes some hundred MB.
    """

    def __init__(self) -> None:
        self.kept: tuple[Experiment, Engine, Evaluator] | None = None

    def load(self, experiment: Experiment) -> tuple[Engine, Evaluator]:
        """Returns the programs for training and testing an experiment."""
        which = program(experiment)
        if self.kept is None or self.kept[0] != which:
            self.kept = which, Engine(experiment), Evaluator(experiment)
        return self.kept[1:]


def perform(
    members: Sequence[Experiment],
    store: Path,
    emit: Emit,
    save_every: float,
    programs: Programs | None = None,
) -> None:
    """Trains and tests runs, and reports the events of each; the caller holds their locks.

    A run that fails is recorded with the reason and does not stop the other runs of the job.

    Args:
        members: The runs; they differ in seed and learning rate only.
        store: Folder that the runs are kept in.
        emit: Takes the events.
        save_every: Seconds between two checkpoints of a run.
        programs: Those of the last job of this process.
    """
    programs = programs or Programs()
    folders = [Store(store).run(member) for member in members]
    compiling = {member.digest for member in members}

    def report(progress: Progress) -> None:
        while compiling:  # the first step of any member: all members share the program
            emit(Event(compiling.pop(), "training"))
        run = progress.experiment.digest
        emit(Event(run, "training", progress.step, progress.loss, progress.accuracy))

    for member in members:
        emit(Event(member.digest, "compiling"))
    try:
        engine, evaluator = programs.load(members[0])
        train_members(members, folders, engine, report=report, save_every=save_every)
    except StorageError:
        raise
    except Exception as error:
        if len(members) == 1:
            record_failure(members[0], folders[0], error, emit)
        else:  # find out which member fails by training each alone
            for member in members:
                perform([member], store, emit, save_every, programs)
        return
    for member, folder in zip(members, folders, strict=True):

        def report_length(accuracy: Accuracy, member: Experiment = member) -> None:
            emit(Event(member.digest, "testing", member.steps, length=accuracy.length))

        emit(Event(member.digest, "testing", member.steps))
        try:
            evaluate_run(folder, member, evaluator, report_length)
        except StorageError:
            raise
        except Exception as error:
            record_failure(member, folder, error, emit)
        else:
            emit(Event(member.digest, "done", member.steps))


def record_failure(member: Experiment, folder: RunFolder, error: Exception, emit: Emit) -> None:
    """Writes the reason of a failure to the run's folder and reports it."""
    folder.fail(describe(error))
    emit(Event(member.digest, "failed", reason=describe(error)))


def describe(error: BaseException) -> str:
    """Returns an error as one line of at most about 500 characters."""
    text = " ".join(str(error).split()) or "no message"
    return text[:500] if isinstance(error, UserError) else f"{type(error).__name__}: {text[:500]}"

"""The interface of an executor: a place that runs jobs, on this machine or on a cluster."""

from typing import Protocol, runtime_checkable

from randpos.sweeps.work import Emit, Job


class WorkerLostError(Exception):
    """A worker died while it ran a job. The driver counts this against the job's runs."""


class WorkerKilledError(WorkerLostError):
    """The only worker was killed from outside, which may or may not be because of its job."""


class OutageError(Exception):
    """A job ended early, but not because of its runs: a node or the whole cluster is gone."""


@runtime_checkable
class Executor(Protocol):
    """Runs jobs; the driver calls `run` from `slots` threads at a time."""

    slots: int
    """Jobs that run at the same time."""
    max_jobs_per_slot: int
    """The largest number of jobs per slot to cut the work into for an even load. It is 1 on
    accelerators: members of a job advance together there, so large jobs are efficient."""

    def run(self, job: Job, emit: Emit) -> None:
        """Runs a job to its end; raises `WorkerLostError` or `OutageError` if it ends early."""
        ...

    def recover(self) -> None:
        """Called after an `OutageError`: waits until jobs can run again, or raises `UserError`."""
        ...

    def stop(self) -> None:
        """Asks all workers to save and to end; called from another thread than `run`."""
        ...

    def close(self) -> None:
        """Releases all processes and connections."""
        ...

"""The driver of a sweep: gives jobs to an executor until every run is done or has failed."""

import collections
import queue
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.store.folder import Store
from randpos.sweeps.executor import Executor, OutageError, WorkerKilledError, WorkerLostError
from randpos.sweeps.plan import Plan, make_jobs
from randpos.sweeps.work import Event, Job, describe_run

MAX_DEATHS = 3
"""Workers that may die over a job before its runs count as failed."""
RETRY_SECONDS = 2.0
"""Pause before the driver asks again for a run that another sweep works on."""


@runtime_checkable
class View(Protocol):
    """Shows the events of a sweep."""

    def __call__(self, event: Event) -> None:
        """Takes an event."""
        ...

    def tick(self) -> None:
        """Called several times per second."""
        ...


@dataclass
class Driver:
    """Trains and tests the missing runs of a plan.

    Args:
        plan: The runs that are done, failed and missing.
        store: Folder that the runs are kept in.
        executor: Where jobs run.
        view: Shows the events.
        max_members: The largest number of members of a job.
    """

    plan: Plan
    store: Path
    executor: Executor
    view: View
    max_members: int | None = None
    failures: dict[str, str] = field(default_factory=dict)
    """Why runs failed, by digest."""

    def __post_init__(self) -> None:
        executor = self.executor
        jobs = make_jobs(
            self.plan.missing, executor.slots, executor.max_jobs_per_slot, self.max_members
        )
        self.jobs = collections.deque(jobs)
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.busy = 0
        self.compiling: set[Experiment] = set()
        """Programs that a worker compiles now."""
        self.started: set[Experiment] = set()
        """Programs of which a job was given out."""
        self.stopped = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Works until all runs have ended; on an interrupt the workers save their runs."""
        threads = [
            threading.Thread(target=self._work, daemon=True) for _ in range(self.executor.slots)
        ]
        try:
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                self._show_events(0.1)
        except BaseException:
            self._stop()
            for thread in threads:
                thread.join(timeout=30)
            raise
        finally:
            self._show_events(0.0)
            self.executor.close()
        if self.error is not None:
            raise self.error

    def _show_events(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while True:
            try:
                event = self.events.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                break
            if event.state == "failed":
                self.failures[event.run] = event.reason
            self.view(event)
        self.view.tick()

    def _stop(self) -> None:
        self.stopped.set()
        self.executor.stop()

    def _work(self) -> None:
        """Runs one job after the other; each slot of the executor has a thread that does this."""
        last = None
        try:
            while (job := self._next(last)) is not None:
                last = job.program if self._run(job) else None
        except BaseException as error:  # the store refuses, the cluster is gone, or a bug
            self.error = self.error or error
            self._stop()

    def _run(self, job: Job) -> bool:
        """Runs a job; returns whether any of its runs was worked on here."""
        ended: set[str] = set()
        here = False

        def emit(event: Event) -> None:
            nonlocal here
            here = here or event.state != "elsewhere"
            if event.state in ("done", "failed"):
                ended.add(event.run)
            if event.step:
                self._set_compiled(job)
            self.events.put(event)

        try:
            self.executor.run(job, emit)
            # Runs that have not ended belong to another sweep: ask again later.
            self._requeue(job, ended, pause=RETRY_SECONDS)
        except WorkerLostError as death:
            if not self.stopped.is_set():
                self._count_death(job, ended, death)
        except OutageError:
            self._requeue(job, ended)
            if not self.stopped.is_set():
                self.executor.recover()
        finally:
            self._set_compiled(job)
            with self.lock:
                self.busy -= 1
        return here

    def _next(self, last: Experiment | None) -> Job | None:
        """Returns the next job; waits while a running job may still be put back.

        Prefers a program that no worker has compiled yet, so that workers do not wait for its
        compilation later; a single worker never waits. Then come the program that this worker has
        in memory (`last`; not one whose runs another sweep has, or it would be asked for in vain
        while others wait), those in the compilation cache, and those that another worker compiles
        at this moment.
        """
        several = self.executor.slots > 1

        def rank(job: Job) -> tuple[bool, bool, bool]:
            which = job.program
            return several and which in self.started, which in self.compiling, which != last

        while not self.stopped.is_set():
            with self.lock:
                if self.jobs:
                    job = min(self.jobs, key=rank)  # the first of equals
                    self.jobs.remove(job)
                    self.compiling.add(job.program)
                    self.started.add(job.program)
                    self.busy += 1
                    return job
                if not self.busy:
                    return None
            time.sleep(0.05)
        return None

    def _set_compiled(self, job: Job) -> None:
        with self.lock:
            self.compiling.discard(job.program)

    def _requeue(self, job: Job, ended: set[str], pause: float = 0.0) -> None:
        """Puts the runs of a job that have not ended back into the queue."""
        left = tuple(member for member in job.members if member.digest not in ended)
        for member in left:
            self.events.put(Event(member.digest, "queued"))
        if left:
            self.stopped.wait(pause)
            with self.lock:
                self.jobs.append(replace(job, members=left))

    def _count_death(self, job: Job, ended: set[str], death: WorkerLostError) -> None:
        """Tries a job again after the death of its worker, up to `MAX_DEATHS` deaths.

        If the only worker was killed from outside, nothing tells whether its run is the cause:
        after as many kills over one run the sweep stops, and the run stays unfinished.
        """
        killed = isinstance(death, WorkerKilledError)
        job = replace(job, deaths=job.deaths + (not killed), kills=job.kills + killed)
        left = [member for member in job.members if member.digest not in ended]
        if max(job.deaths, job.kills) < MAX_DEATHS:
            self._requeue(job, ended)
        elif len(left) > 1:  # find out which run is the cause: each alone, counted from zero
            for member in left:
                self._requeue(Job((member,)), set())
        elif left and killed:
            raise UserError(
                f"The only worker was killed {MAX_DEATHS} times over the run {left[0].digest} "
                f"({describe_run(left[0])}), by a signal or for lack of memory; it stays "
                "unfinished: free memory and run the same command again, or leave this run out "
                "(--tasks, --encodings, --seeds) if it needs more memory than there is."
            )
        else:
            for member in left:
                reason = f"{death}, {MAX_DEATHS} times"
                Store(self.store).run(member).fail(reason)
                self.events.put(Event(member.digest, "failed", reason=reason))

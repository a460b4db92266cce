"""The driver of a sweep: hands jobs to an executor until every run is done or has failed."""

import collections
import queue
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from randpos.store.folder import Store
from randpos.sweeps.local import Executor, WorkerLostError
from randpos.sweeps.plan import Plan, make_jobs
from randpos.sweeps.work import Event, Job

ATTEMPTS = 3
"""Workers that may die over a job before its runs count as failed."""
PATIENCE = 2.0
"""Seconds before a run is looked at again that another sweep works on."""


@runtime_checkable
class View(Protocol):
    """Who is told what happens."""

    def __call__(self, event: Event) -> None:
        """Takes note of an event."""
        ...

    def tick(self) -> None:
        """Called several times per second."""
        ...


@dataclass
class Driver:
    """Does the missing runs of a plan.

    Args:
        plan: What is there and what is not.
        store: Folder that the runs are kept in.
        executor: Where jobs are done.
        view: Who is told.
        most: The largest number of members of a job.
    """

    plan: Plan
    store: Path
    executor: Executor
    view: View
    most: int | None = None
    failures: dict[str, str] = field(default_factory=dict)
    """Why runs failed, by digest."""

    def __post_init__(self) -> None:
        self.jobs = collections.deque(make_jobs(self.plan.missing, self.executor.slots, self.most))
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.busy = 0
        self.stopped = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Works until all is done; an interrupt lets the workers save what they have."""
        threads = [
            threading.Thread(target=self._work, daemon=True) for _ in range(self.executor.slots)
        ]
        try:
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                self._tell(0.1)
        except BaseException:
            self._stop()
            for thread in threads:
                thread.join(timeout=30)
            raise
        finally:
            self._tell(0.0)
            self.executor.close()
        if self.error is not None:
            raise self.error

    def _tell(self, seconds: float) -> None:
        """Passes on what the workers say."""
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
        """What each thread does: one job after the other."""
        try:
            while (job := self._next()) is not None:
                ended: set[str] = set()
                try:
                    self.executor.run(job, lambda event, ended=ended: self._note(event, ended))
                    self._again(job, ended, job.attempts, wait=True)
                except WorkerLostError as death:
                    if not self.stopped.is_set():
                        self._bury(job, ended, str(death))
                finally:
                    with self.lock:
                        self.busy -= 1
        except BaseException as error:  # of the store, or a mistake of ours: nothing can go on
            self.error = self.error or error
            self._stop()

    def _next(self) -> Job | None:
        """Returns the next job, waiting while a job under way may still come back."""
        while not self.stopped.is_set():
            with self.lock:
                if self.jobs:
                    self.busy += 1
                    return self.jobs.popleft()
                if not self.busy:
                    return None
            time.sleep(0.05)
        return None

    def _note(self, event: Event, ended: set[str]) -> None:
        if event.state in ("done", "failed"):
            ended.add(event.run)
        self.events.put(event)

    def _again(self, job: Job, ended: set[str], attempts: int, wait: bool = False) -> None:
        """Puts back the runs of a job that have not ended: others have them, or a worker died."""
        left = tuple(one for one in job.members if one.digest not in ended)
        for one in left:
            self.events.put(Event(one.digest, "queued"))
        if left and not self.stopped.is_set():
            if wait:
                self.stopped.wait(PATIENCE)
            with self.lock:
                self.jobs.append(replace(job, members=left, attempts=attempts))

    def _bury(self, job: Job, ended: set[str], reason: str) -> None:
        if job.attempts + 1 < ATTEMPTS:
            self._again(job, ended, job.attempts + 1)
            return
        left = [one for one in job.members if one.digest not in ended]
        if len(left) > 1:  # one of them may be to blame: each gets its own chances
            for one in left:
                self._again(Job((one,)), set(), 0)
            return
        for one in left:
            reason = f"{reason}, {ATTEMPTS} times"
            Store(self.store).run(one).fail(reason)
            self.events.put(Event(one.digest, "failed", reason=reason))

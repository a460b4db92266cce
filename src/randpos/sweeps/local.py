"""The local executor: worker processes on this machine, one per core or one per accelerator."""

import os
import queue
import threading
import time
from pathlib import Path

import jax

from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.sweeps.estimate import Speed
from randpos.sweeps.executor import WorkerKilledError, WorkerLostError
from randpos.sweeps.process import Process, follow
from randpos.sweeps.work import Emit, Job
from randpos.training.background import available_cores

SINGLE_THREAD = {"PJRT_NPROC": "1"}
"""Makes JAX compute with one thread on a CPU. With more threads, sums have another order, and the
results of a run would depend on the machine."""
GRACE = 10.0
"""Seconds that workers have to end."""
TOGETHER = 1.0
"""Workers that are killed within this many seconds are killed at the same time."""
MEMORY_LIMIT = 2 * 2**30
"""Bytes. A worker with more than that is replaced after its job, because the programs of earlier
jobs stay in its memory, some hundred MB each."""


def places() -> list[dict[str, str]]:
    """Returns the environment variables of each worker that this machine has room for.

    On a CPU, one single-threaded process per core does 1.4 times the steps of one process with a
    thread per core (docs/performance.md). Workers are not pinned to cores: those of two sweeps on
    one machine would share some cores and leave others idle.
    """
    backend = jax.default_backend()
    if backend == "cpu":
        return [{"JAX_PLATFORMS": "cpu", **SINGLE_THREAD}] * available_cores()
    visible = "TPU_VISIBLE_DEVICES" if backend == "tpu" else "CUDA_VISIBLE_DEVICES"
    # A process that sees only some devices must name them as its own environment does.
    names = [name for name in os.environ.get(visible, "").split(",") if name]
    count = len(jax.local_devices())
    return [{visible: name} for name in (names if len(names) == count else map(str, range(count)))]


def measure_worker(experiment: Experiment) -> Speed:
    """Measures the speed of an experiment in a worker process, which then ends."""
    worker = Process("randpos.sweeps.worker", places()[0])
    try:
        worker.send({"measure": experiment.to_dict()})
        end = follow(worker.messages(), lambda event: None)
        if end is None:
            raise UserError(f"the speed cannot be measured: {worker.describe_end()}.")
    finally:
        worker.close(GRACE)
    return Speed(*end["speed"])


class Local:
    """Worker processes of this machine.

    Args:
        store: Folder that the runs are kept in.
        workers: Number of processes; by default one per core, or per accelerator.
        save_every: Seconds between two checkpoints of a run.
    """

    def __init__(self, store: Path, workers: int | None = None, save_every: float = 60.0) -> None:
        self.store, self.save_every = store, save_every
        known = places()
        self.slots = workers or len(known)
        self.max_jobs_per_slot = 4 if jax.default_backend() == "cpu" else 1
        self.free: queue.SimpleQueue[dict[str, str]] = queue.SimpleQueue()
        for number in range(self.slots):
            self.free.put(known[number % len(known)])
        self.thread = threading.local()
        self.workers: set[Process] = set()
        self.stopping = False

    def run(self, job: Job, emit: Emit) -> None:
        """Gives the job to this thread's worker; starts one if there is none."""
        worker: Process | None = getattr(self.thread, "worker", None)
        if worker is None:
            if not hasattr(self.thread, "place"):
                self.thread.place = self.free.get()
            worker = self.thread.worker = Process("randpos.sweeps.worker", self.thread.place)
            self.workers.add(worker)
            if self.stopping:
                self.stop()
        worker.send(job.to_order(self.store, self.save_every))
        end = follow(worker.messages(), emit)
        if end is None:
            reason = worker.describe_end()
            killed = not self.stopping and self._all_killed()
            if killed and len(self.workers) > 1:
                raise UserError(
                    f"All {len(self.workers)} worker processes were killed at the same time, as by "
                    "a signal to all of them or for lack of memory; the runs stay unfinished: run "
                    "the same command again, with fewer --workers if memory is short."
                )
            self._remove(worker)
            raise (WorkerKilledError if killed else WorkerLostError)(reason)
        if end["end"] > MEMORY_LIMIT:
            self._remove(worker)

    def _all_killed(self) -> bool:
        """Returns whether all workers were killed from outside within `TOGETHER`."""
        deadline = time.monotonic() + TOGETHER
        while any(worker.alive for worker in list(self.workers)):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return all(worker.was_killed for worker in list(self.workers))

    def _remove(self, worker: Process) -> None:
        self.thread.worker = None
        self.workers.discard(worker)
        worker.close(GRACE)

    def recover(self) -> None:
        """Does nothing: `run` starts a new worker."""

    def stop(self) -> None:
        """Interrupts the workers: each saves its runs and ends."""
        self.stopping = True
        for worker in list(self.workers):
            worker.interrupt()

    def close(self) -> None:
        """Ends the workers."""
        deadline, left = time.monotonic() + GRACE, list(self.workers)
        for worker in left:
            worker.close_input()
        for worker in left:
            worker.close(max(0.0, deadline - time.monotonic()))

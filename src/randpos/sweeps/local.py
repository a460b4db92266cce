"""The local executor: worker processes on this machine, one per core or one per accelerator."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import jax

from randpos.errors import StorageError, UserError
from randpos.sweeps.work import Emit, Event, Job

ALONE = {"PJRT_NPROC": "1"}
"""Makes JAX compute with one thread on a CPU. More threads add in another order, and the results of
a run would depend on where it was done."""
GRACE = 10.0
"""Seconds that workers have to end."""


TIRED = 2 * 2**30
"""Bytes after which a worker is replaced between two jobs: the programs of jobs that it has done
stay in its memory, some hundred MB for each."""


class WorkerLostError(Exception):
    """A worker ended before its job did."""


@runtime_checkable
class Executor(Protocol):
    """Where jobs are done."""

    slots: int
    """Jobs at a time."""

    def run(self, job: Job, emit: Emit) -> None:
        """Does a job and returns when it has ended; raises `WorkerLostError` if its worker has."""
        ...

    def stop(self) -> None:
        """Asks all workers to save and to end; called from another thread."""
        ...

    def close(self) -> None:
        """Gives everything free."""
        ...


def cores() -> list[int]:
    """Returns the cores that this process may use; not every system tells them."""
    told = getattr(os, "sched_getaffinity", None)
    return sorted(told(0)) if told else list(range(os.cpu_count() or 1))


def places() -> list[dict[str, str]]:
    """Returns where workers run best on this machine: the environment of each.

    On a CPU one single-threaded process per core does 1.4 times the steps of one process with a
    thread per core (docs/performance.md).
    """
    backend = jax.default_backend()
    if backend == "cpu":
        return [{"RANDPOS_CORE": str(core), "JAX_PLATFORMS": "cpu", **ALONE} for core in cores()]
    visible = "TPU_VISIBLE_DEVICES" if backend == "tpu" else "CUDA_VISIBLE_DEVICES"
    # Whoever gave this process some of the devices numbered them otherwise than JAX does.
    names = [name for name in os.environ.get(visible, "").split(",") if name]
    count = len(jax.local_devices())
    return [{visible: name} for name in (names if len(names) == count else map(str, range(count)))]


class Local:
    """Worker processes of this machine.

    Args:
        store: Folder that the runs are kept in.
        workers: How many; by default one per core, or per accelerator.
        save_every: Seconds between two checkpoints of a run.
    """

    def __init__(self, store: Path, workers: int | None = None, save_every: float = 60.0) -> None:
        self.store, self.save_every = store, save_every
        known = places()
        self.slots = workers or len(known)
        self.free: queue.SimpleQueue[dict[str, str]] = queue.SimpleQueue()
        for number in range(self.slots):
            self.free.put(known[number % len(known)])
        self.here = threading.local()
        self.workers: set[Worker] = set()
        self.stopping = False

    def run(self, job: Job, emit: Emit) -> None:
        """Hands the job to this thread's worker, starting one if there is none."""
        worker: Worker | None = getattr(self.here, "worker", None)
        if worker is None:
            if not hasattr(self.here, "place"):
                self.here.place = self.free.get()
            worker = self.here.worker = Worker(self.here.place)
            self.workers.add(worker)
            if self.stopping:
                self.stop()
        order = {
            "members": [one.to_dict() for one in job.members],
            "store": str(self.store),
            "save_every": self.save_every,
        }
        try:
            tired = worker.do(order, emit) > TIRED
        except WorkerLostError:
            self._part_with(worker)
            raise
        if tired:
            self._part_with(worker)

    def _part_with(self, worker: "Worker") -> None:
        self.here.worker = None
        self.workers.discard(worker)
        worker.dismiss()
        worker.close(GRACE)

    def stop(self) -> None:
        """Interrupts the workers: each saves its runs and ends."""
        self.stopping = True
        for worker in list(self.workers):
            worker.interrupt()

    def close(self) -> None:
        """Ends the workers."""
        deadline, left = time.monotonic() + GRACE, list(self.workers)
        for worker in left:
            worker.dismiss()
        for worker in left:
            worker.close(max(0.0, deadline - time.monotonic()))


class Worker:
    """A process and the two pipes to it."""

    def __init__(self, place: dict[str, str]) -> None:
        try:
            self.errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
            # Its own session: an interrupt at the terminal reaches the driver only, who passes
            # it on.
            self.process = subprocess.Popen(
                [sys.executable, "-m", "randpos.sweeps.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                text=True,
                start_new_session=True,
                env=os.environ | place,
            )
        except OSError as error:
            raise UserError(
                f"a worker process cannot be started: {error.strerror}; pass fewer --workers, or "
                "raise the limits of this machine."
            ) from error

    def do(self, order: dict[str, Any], emit: Emit) -> int:
        """Sends an order and follows it to its end; returns the bytes that the process took."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # which the missing answer tells
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        for line in self.process.stdout:
            try:
                told = json.loads(line)
            except ValueError:
                break  # cut off in the middle: it was killed
            if "event" in told:
                emit(Event(**told["event"]))
            elif "warning" in told:
                warnings.warn(told["warning"], stacklevel=2)
            elif "refused" in told:
                raise StorageError(told["refused"])
            elif "end" in told:
                return int(told["end"])
        raise WorkerLostError(self._epitaph())

    def _epitaph(self) -> str:
        code = self.process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        self.errors.seek(0)
        last = self.errors.read()[-2000:].strip().splitlines()[-1:]
        return f"its process {how}" + (f": {last[0]}" if last else "")

    def interrupt(self) -> None:
        """Asks the process to save and to end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def dismiss(self) -> None:
        """Says that there are no more orders, whereupon the process ends."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def close(self, seconds: float) -> None:
        """Waits for the process to end, and kills it when that takes too long."""
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # Not before it has ended: a thread may be reading, and closing would wait for it.
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.errors.close()

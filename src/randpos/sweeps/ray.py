"""The Ray executor: jobs on whatever nodes a cluster has; the driver alone writes to the store.

A job takes the newest checkpoints of its runs along, works in a folder of its node, and streams
its progress and its files back. When the node dies the driver starts the job again elsewhere, from
the checkpoints that have arrived. No shared file system is needed.
"""

import contextlib
import os
import queue
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from randpos.errors import StorageError, UserError
from randpos.experiment import Experiment
from randpos.extras import MissingExtraError
from randpos.store.folder import Store
from randpos.store.lock import Lock
from randpos.sweeps.local import ALONE, WorkerLostError
from randpos.sweeps.snapshots import Snapshot, put, take
from randpos.sweeps.work import Emit, Event, Job, claim, describe, perform
from randpos.training.compilation import enable_cache

CALLS = 4
"""Jobs after which a process is replaced: some hundred MB of each stay in its memory."""
PREFIX, HOUR = "randpos-work-", 3600.0
"""The names of folders that jobs work in, and how old one must be to count as left behind."""

Message = tuple[str, Any]
"""What a remote job says: ("event", Event), ("files", (run, Snapshot)), or how it ended before
its time: ("refused", why) by its file system, or ("broken", why)."""


class Ray:
    """Jobs on a Ray cluster.

    Args:
        store: The driver's folder of runs.
        address: The cluster, or `auto` for the one that this machine belongs to.
        workers: Jobs at a time; by default one per GPU, or per CPU where there are none.
        save_every: Seconds between two checkpoints, which is also how often they are sent back.
    """

    def __init__(
        self,
        store: Path,
        address: str | None = "auto",
        workers: int | None = None,
        save_every: float = 60.0,
    ) -> None:
        try:
            import ray
            import ray.exceptions
        except ImportError as error:
            raise MissingExtraError("--executor ray", "Ray", "ray") from error
        # Its stubs know no streaming tasks.
        self.ray: Any = ray
        self.store, self.save_every = store, save_every
        self.mine = not self.ray.is_initialized()
        if self.mine:
            try:
                check_address(address)
                self.ray.init(address=address, log_to_driver=False, logging_level="error")
            except (OSError, ValueError, RuntimeError) as error:
                raise UserError(
                    f"There is no Ray cluster at {address!r}; start one with: ray start --head."
                ) from error
        resources = self.ray.cluster_resources()
        gpus = int(resources.get("GPU", 0))
        # Ray replaces a process that had a GPU after each job, but one that had none never.
        alone = {"num_cpus": 1, "max_calls": CALLS}
        self.needs = {"num_gpus": 1, "num_cpus": 1} if gpus else alone
        self.slots = workers or gpus or max(1, int(resources.get("CPU", 1)))
        self.running: set[Any] = set()
        self.stopping = False

    def run(self, job: Job, emit: Emit) -> None:
        """Does a job somewhere, and writes what it sends to the store."""
        with claim(job.members, self.store, emit) as claims:
            if not claims.mine or self.stopping:
                return
            folders = {one.digest: Store(self.store).run(one) for one in claims.mine}
            snapshots = {run: take(folder.path) for run, folder in folders.items()}
            members = [one.to_dict() for one in claims.mine]
            # Ray's own retries would start over: the driver retries, from what has arrived.
            remote = self.ray.remote(max_retries=0, num_returns="streaming", **self.needs)(work)
            stream = remote.remote(members, snapshots, self.save_every)
            self.running.add(stream)
            try:
                for reference in stream:
                    kind, content = self.ray.get(reference)
                    if kind == "event":
                        emit(content)
                    elif kind == "files":
                        run, snapshot = content
                        put(snapshot, folders[run].path)
                    elif kind == "refused":
                        raise StorageError(f"on a node of the cluster: {content}")
                    else:
                        raise WorkerLostError(content)
            except self.ray.exceptions.TaskCancelledError as error:
                raise WorkerLostError("it was cancelled") from error
            except self.ray.exceptions.RayError as error:
                raise WorkerLostError(_first_line(error)) from error
            finally:
                self.running.discard(stream)

    def stop(self) -> None:
        """Ends the jobs; what has arrived is kept."""
        self.stopping = True
        for stream in list(self.running):
            self.ray.cancel(stream, force=True)

    def close(self) -> None:
        """Leaves the cluster."""
        if self.mine:
            self.ray.shutdown()


def check_address(address: str | None) -> None:
    """Knocks at a cluster's door; Ray itself would wait for minutes before it gives up."""
    host, _, port = (address or "").rpartition("://")[2].rpartition(":")
    if host:
        socket.create_connection((host, int(port)), timeout=10).close()


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"its node or process was lost ({type(error).__name__}: {lines[0] if lines else ''})"


def remove_leftovers() -> None:
    """Removes the folders of jobs that were killed: nobody else does on a node."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError, UserError):  # of another user, gone, or in use
            known = folder.lstat()
            if known.st_uid != os.getuid() or time.time() - known.st_mtime < HOUR:
                continue  # a folder that was just made has no lock yet
            lock = Lock(folder)
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()


def work(
    members: Sequence[dict[str, Any]], snapshots: dict[str, Snapshot], save_every: float
) -> Iterator[Message]:
    """Does a job on a node: yields events as they come, and files when they have changed."""
    os.environ.update(ALONE)  # JAX reads it when it first computes, which is after this
    enable_cache()
    experiments = [Experiment.from_dict(data) for data in members]
    messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
    remove_leftovers()
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name, contextlib.ExitStack() as stack:
        store = Store(Path(name))
        stack.callback(Lock(store.path).release)
        for run, snapshot in snapshots.items():
            put(snapshot, store.run_at(run).path)

        def emit(event: Event) -> None:
            # The files of a run that has ended arrive before the news of it.
            if event.state in ("done", "failed"):
                messages.put(("files", (event.run, take(store.run_at(event.run).path))))
            messages.put(("event", event))

        def perform_all() -> None:
            try:
                perform(experiments, store.path, emit, save_every)
            except StorageError as error:
                messages.put(("refused", str(error)))
            except BaseException as error:
                messages.put(("broken", describe(error)))
            finally:
                messages.put(None)

        thread = threading.Thread(target=perform_all, daemon=True)
        thread.start()
        sent, ended = time.monotonic(), set()
        while (message := messages.get()) is not None:
            yield message
            if message[0] == "event" and message[1].state in ("done", "failed"):
                ended.add(message[1].run)
            if time.monotonic() - sent > save_every:
                sent = time.monotonic()
                for one in experiments:
                    if one.digest not in ended:
                        yield "files", (one.digest, take(store.run_at(one.digest).path))
        thread.join()

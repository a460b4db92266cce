"""The Ray executor: runs jobs on the nodes of a Ray cluster; only this machine writes to the store.

A job takes the newest checkpoints of its runs along, works in a temporary folder of its node, and
sends progress and files back. No shared file system is needed. If the node dies, the job runs again
on another node, from the checkpoints that have arrived.
"""

import importlib.util
import itertools
import queue
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from randpos.errors import UserError
from randpos.extras import MissingExtraError
from randpos.sweeps.executor import OutageError, WorkerLostError
from randpos.sweeps.gateway import check_address
from randpos.sweeps.local import GRACE
from randpos.sweeps.process import Message, Process, follow
from randpos.sweeps.work import Emit, Job

RECONNECT_SECONDS = 600.0
"""How long a sweep waits for a cluster that went away."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between two attempts to reconnect; each pause is twice as long as the one before."""


class Connection:
    """A gateway process, and the messages of each job that it runs.

    Args:
        address: The cluster, or `auto` for the one that this machine belongs to.
    """

    def __init__(self, address: str) -> None:
        absent = UserError(
            f"There is no Ray cluster at {address!r}; start one with: ray start --head."
        )
        try:
            check_address(address)
        except (OSError, ValueError, OverflowError) as error:
            raise absent from error
        # With automatic connections, a task that is submitted after a loss would start a cluster.
        self.process = Process("randpos.sweeps.gateway", {"RAY_ENABLE_AUTO_CONNECT": "0"})
        try:
            self.process.send({"address": address})
            self.messages = self.process.messages()
            hello = next(self.messages, None)
            if hello is None or "absent" in hello:
                raise absent
        except BaseException:
            self.process.child.kill()
            self.process.close(GRACE)
            raise
        self.cpus, self.gpus = int(hello["cpus"]), int(hello["gpus"])
        self.lock = threading.Lock()
        self.numbers = itertools.count()
        self.inboxes: dict[int, queue.SimpleQueue[Message | None]] | None = {}
        """The messages of each running job; None once the connection is lost."""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for message in self.messages:
            inbox = (self.inboxes or {}).get(message.pop("job"))
            if inbox is not None:
                inbox.put(message)
        with self.lock:
            lost, self.inboxes = self.inboxes, None
        for inbox in (lost or {}).values():
            inbox.put(None)

    @property
    def is_lost(self) -> bool:
        """Whether the gateway has ended."""
        return self.inboxes is None

    def close(self) -> None:
        """Ends the gateway."""
        self.process.wait(GRACE)
        self.reader.join()
        self.process.close(0.0)

    def run(self, order: Message) -> Iterator[Message]:
        """Sends a job; yields its messages until the caller stops or the connection is lost."""
        inbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        with self.lock:
            if self.inboxes is None:
                return
            number = next(self.numbers)
            self.inboxes[number] = inbox
            self.process.send({"job": number, **order})
        while (message := inbox.get()) is not None:
            yield message


class Ray:
    """Jobs on a Ray cluster.

    Args:
        store: The folder of runs on this machine.
        address: The cluster, or `auto` for the one that this machine belongs to.
        workers: Jobs at a time; by default one per GPU, or per CPU where there are none.
        save_every: Seconds between two checkpoints, and between two transfers of them.
        reconnect: Seconds to wait for a cluster that went away.
    """

    def __init__(
        self,
        store: Path,
        address: str = "auto",
        workers: int | None = None,
        save_every: float = 60.0,
        reconnect: float = RECONNECT_SECONDS,
    ) -> None:
        if importlib.util.find_spec("ray") is None:
            raise MissingExtraError("--executor ray", "Ray", "ray")
        self.store, self.address = store, address
        self.save_every, self.reconnect = save_every, reconnect
        self.connection = Connection(address)
        self.slots = workers or self.connection.gpus or max(1, self.connection.cpus)
        self.max_jobs_per_slot = 1 if self.connection.gpus else 4
        self.lock = threading.Lock()
        self.stopping = threading.Event()

    def run(self, job: Job, emit: Emit) -> None:
        """Runs a job on a node; what it sends is written to the store."""
        order = job.to_order(self.store, self.save_every)
        end = follow(self.connection.run(order), emit)
        if end is None:
            raise OutageError("the connection to the Ray cluster was lost")
        if "outage" in end:
            raise OutageError(end["outage"])
        if "lost" in end:
            raise WorkerLostError(end["lost"])

    def recover(self) -> None:
        """Waits for a lost cluster; raises `UserError` after `reconnect` seconds."""
        with self.lock:  # one thread reconnects for all
            if not self.connection.is_lost:
                return  # only a node was lost, or another thread has reconnected
            self.connection.close()
            warnings.warn(
                f"the Ray cluster at {self.address!r} is lost; trying to reconnect for "
                f"{self.reconnect:.0f} s.",
                stacklevel=2,
            )
            deadline, pause = time.monotonic() + self.reconnect, FIRST_PAUSE
            while not self.stopping.wait(max(0.0, min(pause, deadline - time.monotonic()))):
                try:
                    self.connection = Connection(self.address)
                except UserError as error:
                    if time.monotonic() >= deadline:
                        raise UserError(
                            f"The Ray cluster at {self.address!r} went away and did not come back "
                            f"within {self.reconnect:.0f} s; the runs stay unfinished: start the "
                            "cluster and run the same command again to continue them."
                        ) from error
                    pause = min(2 * pause, LONGEST_PAUSE)
                else:
                    warnings.warn("reconnected to the Ray cluster.", stacklevel=2)
                    return

    def stop(self) -> None:
        """Ends the jobs; what has arrived is kept."""
        self.stopping.set()
        self.connection.process.interrupt()

    def close(self) -> None:
        """Disconnects from the cluster."""
        self.connection.close()

"""The gateway process: the only process of a sweep that is connected to Ray.

When the head of a cluster goes away, Ray ends or blocks the processes that are connected to it. The
driver therefore talks to Ray through this process. If the cluster is lost, this process ends, and
the driver starts a new one when the cluster is back.

The gateway holds the locks of the runs and writes what the nodes send to the store.
"""

import dataclasses
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from randpos.errors import StorageError, UserError
from randpos.experiment import Experiment
from randpos.store.folder import RunFolder, Store
from randpos.sweeps.process import Message, Send, open_answers
from randpos.sweeps.remote import work_on_node
from randpos.sweeps.snapshots import read_snapshot, write_snapshot
from randpos.sweeps.work import Event, claim, describe

JOBS_PER_PROCESS = 4
"""Jobs after which Ray replaces a process: each leaves some hundred MB in its memory."""
CHECK_SECONDS = 1.0
"""Pause between two checks of the cluster; it is lost when `CHECKS` of them fail in a row."""
CHECKS = 3
PROBE_SECONDS = 60.0
"""A node that cannot run an empty task within this time is not alive."""


def check_address(address: str) -> None:
    """Raises `OSError`, `ValueError` or `OverflowError` if nothing listens at the address.

    Ray itself would wait for minutes.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host:
        socket.create_connection((host, int(port)), timeout=10).close()


class Gateway:
    """A connection to a Ray cluster.

    Args:
        address: The cluster, or `auto` for the one that this machine belongs to.
        send: Sends a message to the driver.
    """

    def __init__(self, address: str, send: Send) -> None:
        import ray
        import ray.exceptions

        self.ray: Any = ray  # the type stubs of Ray do not know streaming tasks
        self.send = send
        self.ray.init(address=address, log_to_driver=False, logging_level="error")
        context = self.ray.get_runtime_context()
        self.node = context.get_node_id()
        self.address = context.gcs_address if address == "auto" else address
        resources = self.ray.cluster_resources()
        self.gpus, self.cpus = (int(resources.get(kind, 0)) for kind in ("GPU", "CPU"))
        # Ray replaces a process with a GPU after each task, and one without a GPU never.
        cpu_only = {"num_cpus": 1, "max_calls": JOBS_PER_PROCESS}
        self.needs = {"num_gpus": 1, "num_cpus": 1} if self.gpus else cpu_only

    def watch(self) -> None:
        """Ends this process when the cluster or this machine's own node is lost."""
        failed = 0
        while failed < CHECKS:
            time.sleep(CHECK_SECONDS)
            failed = 0 if self._is_connected() else failed + 1
        os._exit(1)

    def _is_connected(self) -> bool:
        try:
            check_address(self.address)
            return any(n["NodeID"] == self.node and n["Alive"] for n in self.ray.nodes())
        except (OSError, self.ray.exceptions.RayError):
            return False

    def serve(self, order: Message) -> None:
        """Runs a job on the cluster and sends its events; the last message says how it ended."""
        number, store = order["job"], Path(order["store"])
        members = [Experiment.from_dict(data) for data in order["members"]]

        def emit(event: Event) -> None:
            self.send({"job": number, "event": dataclasses.asdict(event)})

        end: Message = {"end": 0}
        try:
            with claim(members, store, emit) as claimed:
                if claimed:
                    folders = {m.digest: Store(store).run(m) for m in claimed}
                    data = [member.to_dict() for member in claimed]
                    end = self._run(data, folders, order["save_every"], emit)
        except StorageError as error:
            end = {"refused": str(error)}
        except Exception as error:
            end = {"outage" if self._has_failed(None) else "lost": describe(error)}
        self.send({"job": number, **end})

    def _run(
        self, members: list[Any], folders: dict[str, RunFolder], save_every: float, emit: Any
    ) -> Message:
        snapshots = {run: read_snapshot(folder.path) for run, folder in folders.items()}
        # No retries by Ray, which would start from these snapshots: the driver tries again with
        # the checkpoints that have arrived until then.
        remote = self.ray.remote(max_retries=0, num_returns="streaming", **self.needs)
        node = None
        try:
            for reference in remote(work_on_node).remote(members, snapshots, save_every):
                kind, content = self.ray.get(reference)
                if kind == "node":
                    node = content
                elif kind == "event":
                    emit(content)
                elif kind == "files":
                    run, snapshot = content
                    write_snapshot(snapshot, folders[run].path)
                elif kind == "refused":
                    return {"refused": f"on a node of the cluster: {content}"}
                else:
                    return {"lost": content}
        except self.ray.exceptions.RayError as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            reason = f"its process was lost ({type(error).__name__}: {lines[0] if lines else ''})"
            failed = isinstance(error, self.ray.exceptions.NodeDiedError) or self._has_failed(node)
            return {"outage" if failed else "lost": reason}
        return {"end": 0}

    def _has_failed(self, node: str | None) -> bool:
        """Returns whether the node of a job, or the cluster if it had none yet, is lost.

        While this process is not connected it waits: either the connection comes back, or `watch`
        ends the process. Without that, the driver would send the job again and again.
        """
        if self._is_connected():
            return node is not None and not self._is_alive(node)
        while not self._is_connected():
            time.sleep(CHECK_SECONDS)
        return True

    def _is_alive(self, node: str) -> bool:
        """Returns whether a node can still run an empty task."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        where = NodeAffinitySchedulingStrategy(node, soft=False)
        probe = self.ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=where)(_do_nothing)
        try:
            self.ray.get(probe.remote(), timeout=PROBE_SECONDS)
        except self.ray.exceptions.RayError:
            return False
        return True


def _do_nothing() -> None:
    pass


def main() -> None:
    """Connects, then runs each job that arrives on standard input in a thread of its own."""
    send = open_answers()
    try:
        address = json.loads(sys.stdin.readline())["address"]
        try:
            gateway = Gateway(address, send)
        except (OSError, ValueError, RuntimeError) as error:
            send({"absent": describe(error)})
            return
        send({"cpus": gateway.cpus, "gpus": gateway.gpus})
        threading.Thread(target=gateway.watch, daemon=True).start()
        for line in sys.stdin:
            order = json.loads(line)
            threading.Thread(target=gateway.serve, args=(order,), daemon=True).start()
    except (KeyboardInterrupt, UserError):
        pass
    os._exit(0)  # the driver is gone or wants no more; Ray ends the tasks of this process


if __name__ == "__main__":
    main()

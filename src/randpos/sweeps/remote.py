"""The part of the Ray executor that runs on a node: one job in a temporary folder."""

import contextlib
import os
import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from randpos.errors import StorageError, UserError
from randpos.experiment import Experiment
from randpos.store.folder import Store
from randpos.store.lock import Lock
from randpos.sweeps.local import SINGLE_THREAD
from randpos.sweeps.snapshots import Snapshot, read_snapshot, write_snapshot
from randpos.sweeps.work import Event, describe, perform
from randpos.training.compilation import enable_cache

PREFIX = "randpos-work-"
"""Prefix of the folders that jobs work in."""
MIN_AGE = 3600.0
"""Seconds after which a folder without a lock counts as left behind by a killed job."""

Answer = tuple[str, Any]
"""What a job sends: ("node", id), ("event", Event), ("files", (run, Snapshot)), or why it ended
early: ("refused", reason) by the file system, or ("broken", reason)."""


def work_on_node(
    members: Sequence[dict[str, Any]], snapshots: dict[str, Snapshot], save_every: float
) -> Iterator[Answer]:
    """Runs a job as a Ray task; yields the node's id first."""
    import ray

    yield "node", ray.get_runtime_context().get_node_id()
    yield from work(members, snapshots, save_every)


def work(
    members: Sequence[dict[str, Any]], snapshots: dict[str, Snapshot], save_every: float
) -> Iterator[Answer]:
    """Runs a job: yields events as they come, and the files of its runs every `save_every` seconds.

    Args:
        members: The experiments as plain data.
        snapshots: The files of each run so far, by digest.
        save_every: Seconds between two checkpoints.
    """
    os.environ.update(SINGLE_THREAD)  # JAX reads it at its first computation, which comes later
    enable_cache()
    experiments = [Experiment.from_dict(data) for data in members]
    answers: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
    remove_leftovers()
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name, contextlib.ExitStack() as stack:
        store = Store(Path(name))
        stack.callback(Lock(store.path).release)
        for run, snapshot in snapshots.items():
            write_snapshot(snapshot, store.run_at(run).path)

        def emit(event: Event) -> None:
            # The files of an ended run must arrive before the event that says so.
            if event.state in ("done", "failed"):
                answers.put(("files", (event.run, read_snapshot(store.run_at(event.run).path))))
            answers.put(("event", event))

        def perform_all() -> None:
            try:
                perform(experiments, store.path, emit, save_every)
            except StorageError as error:
                answers.put(("refused", str(error)))
            except BaseException as error:
                answers.put(("broken", describe(error)))
            finally:
                answers.put(None)

        thread = threading.Thread(target=perform_all, daemon=True)
        thread.start()
        sent, ended = time.monotonic(), set()
        while (answer := answers.get()) is not None:
            yield answer
            if answer[0] == "event" and answer[1].state in ("done", "failed"):
                ended.add(answer[1].run)
            if time.monotonic() - sent > save_every:
                sent = time.monotonic()
                for experiment in experiments:
                    run = experiment.digest
                    if run not in ended:
                        yield "files", (run, read_snapshot(store.run_at(run).path))
        thread.join()


def remove_leftovers() -> None:
    """Removes the folders of killed jobs from this node."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        # Another user's folder, one that is gone already, or one that is locked stays.
        with contextlib.suppress(OSError, UserError):
            status = folder.lstat()
            if status.st_uid != os.getuid() or time.time() - status.st_mtime < MIN_AGE:
                continue  # a new folder may not be locked yet
            lock = Lock(folder)
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()

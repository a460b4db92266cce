"""A worker process: runs the jobs that arrive on its standard input.

It ends when its input ends or its driver is gone, so no worker outlives its driver by more than a
few steps.
"""

import dataclasses
import json
import os
import resource
import signal
import sys
import warnings
from pathlib import Path

from randpos.errors import StorageError, UserError
from randpos.experiment import Experiment
from randpos.sweeps.estimate import measure_speed
from randpos.sweeps.process import Message, Send, open_answers
from randpos.sweeps.work import Event, Programs, claim, perform
from randpos.training.compilation import enable_cache


def serve(order: Message, send: Send, programs: Programs) -> None:
    """Carries out an order: measures the speed of a run, or claims, trains and tests a job."""
    if "measure" in order:
        send({"speed": measure_speed(Experiment.from_dict(order["measure"]))})
        return
    store = Path(order["store"])
    members = [Experiment.from_dict(data) for data in order["members"]]

    def emit(event: Event) -> None:
        send({"event": dataclasses.asdict(event)})

    try:
        with claim(members, store, emit) as claimed:
            if claimed:
                perform(claimed, store, emit, order["save_every"], programs)
    except StorageError as error:
        send({"refused": str(error)})
    send({"end": memory()})


def memory() -> int:
    """Returns the bytes of memory that this process holds."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:  # not Linux: the peak instead
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    """Runs jobs until the input ends or a signal asks the process to stop."""
    send = open_answers()

    def interrupt(*_: object) -> None:
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, signal.SIG_IGN)  # a second signal must not interrupt the saving
        raise KeyboardInterrupt

    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, interrupt)
    warnings.showwarning = lambda message, *_: send({"warning": str(message)})
    try:
        enable_cache()
        programs = Programs()
        for line in sys.stdin:
            serve(json.loads(line), send, programs)
    except KeyboardInterrupt:
        os._exit(0)  # not sys.exit: flushing to a closed pipe would fail
    except UserError as error:
        send({"refused": str(error)})
    return 0


if __name__ == "__main__":
    sys.exit(main())

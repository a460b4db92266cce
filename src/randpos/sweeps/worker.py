"""A worker process: takes jobs from its standard input and tells what happens on its output.

Both ends speak JSON, a line at a time. The process ends when nobody listens any more, so that no
worker outlives its driver by more than a few steps.
"""

import dataclasses
import json
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from randpos.errors import StorageError, UserError
from randpos.experiment import Experiment
from randpos.sweeps.work import Event, claim, perform
from randpos.training.compilation import enable_cache

Tell = Callable[[dict[str, Any]], None]


def serve(order: dict[str, Any], tell: Tell) -> None:
    """Does one job: claims its runs, trains and tests them."""
    store = Path(order["store"])
    members = [Experiment.from_dict(data) for data in order["members"]]

    def emit(event: Event) -> None:
        tell({"event": dataclasses.asdict(event)})

    try:
        with claim(members, store, emit) as claims:
            if claims.mine:
                perform(claims.mine, store, emit, order["save_every"])
    except StorageError as error:
        tell({"refused": str(error)})
    tell({"end": memory()})


def memory() -> int:
    """Returns the bytes of memory that this process holds."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:  # another system than Linux: the most that it ever held
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    """Works until the input ends or an interrupt comes."""
    # What anything else prints must not end up between the lines of the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def tell(message: dict[str, Any]) -> None:
        try:
            answers.write(json.dumps(message) + "\n")
            answers.flush()
        except BrokenPipeError as error:
            # The driver is gone, which is no fault of the run: it is saved, as if interrupted.
            raise KeyboardInterrupt from error

    def interrupted(*_: object) -> None:
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, signal.SIG_IGN)  # once is enough
        raise KeyboardInterrupt

    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, interrupted)
    core = os.environ.get("RANDPOS_CORE")
    if core and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})
    warnings.showwarning = lambda message, *_: tell({"warning": str(message)})
    try:
        enable_cache()
        for line in sys.stdin:
            serve(json.loads(line), tell)
    except KeyboardInterrupt:
        os._exit(0)  # whatever is buffered has no reader
    except UserError as error:
        tell({"refused": str(error)})
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The processor time of calls; on shared machines it varies less than the time of the clock."""

import os
import resource
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

Name = TypeVar("Name", bound=Hashable)


def pin(core: int = 0) -> None:
    """Keeps this process on one core, which also makes every library use one thread."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[core % len(cores)]})
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")


def in_turns(contenders: Mapping[Name, Callable[[], Any]], turns: int) -> dict[Name, float]:
    """Calls the contenders in turns; returns the least processor time of each, in seconds."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(turns):
        for name, run in contenders.items():
            began = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - began)
    return best


def fastest(run: Callable[[], Any], turns: int) -> float:
    """Returns the least processor time of a call in seconds, after a call that is not counted."""
    run()
    return in_turns({"": run}, turns)[""]


def children_seconds() -> float:
    """Returns the processor time of all child processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

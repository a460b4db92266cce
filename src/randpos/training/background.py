"""Compiles in a thread what a run needs later, so that it need not stop for it.

Training keeps about one core busy, and XLA compiles without holding Python's lock. On a single core
there is nothing to gain.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial

from randpos.experiment import Experiment
from randpos.setup import resolve
from randpos.training import BACKGROUND
from randpos.training.engine import Engine
from randpos.training.evaluation import Evaluator
from randpos.training.step import Member, State
from randpos.training.tested_lengths import lengths_to_test

TURN = threading.Lock()
"""Held by the thread that compiles: one at a time, since training needs a core too."""


def available_cores() -> int:
    """Returns the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def compile_in_background(
    programs: Iterator[Callable[[], object]], stopped: threading.Event
) -> None:
    """Starts a thread that compiles programs one after the other, until it is stopped."""

    def work() -> None:
        # Whoever needs the program raises the same error, with an explanation.
        with contextlib.suppress(Exception):
            for compile_it in programs:
                with TURN:
                    if stopped.is_set():
                        return
                    compile_it()

    threading.Thread(target=work, name=BACKGROUND).start()


@contextlib.contextmanager
def compiled_ahead(engine: Engine, state: State, who: Member) -> Iterator[None]:
    """Compiles all sizes of a training step, shortest first, as long as the context is open.

    Of the packed state only the shapes matter (`Engine.shapes`).
    """
    stopped = threading.Event()
    if available_cores() > 1:
        programs = (partial(engine.programs, state, who, size) for size in engine.sizes)
        compile_in_background(programs, stopped)
    try:
        yield
    finally:
        stopped.set()


class BackgroundTests:
    """The tests of a run: compiled in the background from `start` on, until `stop`."""

    def __init__(self) -> None:
        self.evaluator: Evaluator | None = None
        """Tests the run with the programs that are compiled so far, if it was started."""
        self.stopped = threading.Event()

    def start(self, experiment: Experiment) -> None:
        """Starts the thread, at the first call."""
        if self.evaluator is None and available_cores() > 1:
            self.evaluator = evaluator = Evaluator(experiment)
            shapes, _ = resolve(experiment).skeleton
            lengths = lengths_to_test(experiment)  # in the order in which tests need them
            programs = (partial(evaluator.prepare, shapes, length) for length in lengths)
            compile_in_background(programs, self.stopped)

    def stop(self) -> None:
        """Stops after the program that is compiled now, without waiting for it."""
        self.stopped.set()

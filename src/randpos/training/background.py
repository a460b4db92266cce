"""Compiles the programs of tests in a thread while a run trains, so that it need not stop for them.

Training keeps about one core busy, and XLA compiles without holding Python's lock. On a single core
there is nothing to gain.
"""

import contextlib
import os
import threading

from randpos.experiment import Experiment
from randpos.setup import resolve
from randpos.training.evaluation import Evaluator
from randpos.training.tested_lengths import lengths_to_test


def available_cores() -> int:
    """Returns the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class BackgroundTests:
    """The tests of a run: compiled in the background from `start` on, until `stop`.

    Args:
        name: The name of the thread.
    """

    def __init__(self, name: str = "randpos-tests") -> None:
        self.name = name
        self.evaluator: Evaluator | None = None
        """Tests the run with the programs that are compiled so far, if it was started."""
        self.stopped = threading.Event()

    def start(self, experiment: Experiment) -> None:
        """Starts the thread, at the first call."""
        if self.evaluator is None and available_cores() > 1:
            self.evaluator = Evaluator(experiment)
            arguments = self.evaluator, self.stopped
            threading.Thread(target=compile_tests, args=arguments, name=self.name).start()

    def stop(self) -> None:
        """Stops after the program that is compiled now, without waiting for it."""
        self.stopped.set()


def compile_tests(evaluator: Evaluator, stopped: threading.Event) -> None:
    """Compiles the programs for all lengths of a test, in the order in which tests need them."""
    shapes, _ = resolve(evaluator.experiment).skeleton
    # The test itself raises the same error, with an explanation.
    with contextlib.suppress(Exception):
        for length in lengths_to_test(evaluator.experiment):
            if stopped.is_set():
                return
            evaluator.prepare(shapes, length)

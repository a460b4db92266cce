"""Tests during training: generalization over training time.

They read the state of training and change nothing: the bits of a run are the same with and without.
"""

import dataclasses

import numpy as np

from randpos.experiment import Experiment
from randpos.store.folder import RunFolder
from randpos.store.periodic_tests import FILE
from randpos.training.compilation import Compiling, silent
from randpos.training.evaluation import Evaluator
from randpos.training.mean_accuracy import score
from randpos.training.step import State

POINTS = 6
"""Lengths beyond N, or below it if M = N, at which a run is tested."""


def periodic_lengths(experiment: Experiment) -> list[int]:
    """Returns N, N + 1 and evenly spaced lengths up to M; if M = N, evenly spaced lengths up to N.

    >>> periodic_lengths(Experiment(test_length=200))
    [40, 41, 73, 105, 136, 168, 200]
    >>> periodic_lengths(Experiment(test_length=40))
    [1, 8, 14, 20, 27, 34, 40]
    """
    seen, last = experiment.lengths.maximum, experiment.test_length
    spaced = (
        np.linspace(seen + 1, last, POINTS) if last > seen else np.linspace(1, seen, POINTS + 1)
    )
    return sorted({seen, *map(int, spaced.round())})


class PeriodicTests:
    """Tests the members of one experiment every `evaluation.every` steps.

    Args:
        experiment: What is trained; members differ in seed and learning rate only.
        compiling: Entered while a program is compiled.
    """

    __test__ = False  # pytest would collect it by its name

    def __init__(self, experiment: Experiment, compiling: Compiling = silent) -> None:
        self.every = experiment.evaluation.every
        self.lengths = periodic_lengths(experiment)
        self.seen, self.longest = experiment.lengths.maximum, experiment.test_length
        tested = dataclasses.replace(experiment, evaluation=experiment.evaluation.periodic)
        self.evaluator = Evaluator(tested, compiling)

    def due(self, step: int) -> bool:
        """Returns whether members are tested after this step."""
        return bool(self.every) and step % self.every == 0

    def run(self, state: State, step: int, folder: RunFolder) -> float | None:
        """Tests a member, appends a line per length to tests.jsonl, and returns the score.

        Called before the step is recorded: on interrupt, resuming drops the lines.
        """
        found = list(self.evaluator.test(state.model, self.lengths))
        for accuracy in found:
            numbers = accuracy._replace(constant=None)._asdict()
            row = {name: value for name, value in numbers.items() if value is not None}
            folder.append(FILE, {"step": step, **row})
        return score(found, self.seen, self.longest)

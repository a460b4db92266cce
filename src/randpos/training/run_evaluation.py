"""Evaluation of a run in a store: tests the lengths that the store lacks."""

from collections.abc import Callable

import equinox as eqx

from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.nn.model import Encoder
from randpos.setup import resolve
from randpos.store import checkpoints
from randpos.store.accuracies import read_accuracies, write_accuracies
from randpos.store.folder import RunFolder
from randpos.store.result import Accuracy
from randpos.training.evaluation import Evaluator
from randpos.training.tested_lengths import lengths_to_test


def load_model(folder: RunFolder) -> Encoder:
    """Returns the trained model of a run."""
    experiment, result = folder.experiment(), folder.result()
    if result is None or result.status != "complete":
        state = "is not trained yet" if result is None else f"diverged at step {result.step}"
        raise UserError(f"{folder.path} {state}; it has no model.")
    arrays, static = resolve(experiment).skeleton
    return eqx.combine(checkpoints.load_arrays(folder.parameters, arrays), static)


def untested(folder: RunFolder, experiment: Experiment, max_length: int | None = None) -> list[int]:
    """Returns the lengths that a run must still be tested at."""
    if folder.status() == "diverged":
        return []
    done = {a.length for a in read_accuracies(folder.path, experiment)}
    return [n for n in lengths_to_test(experiment, max_length) if n not in done]


def evaluate_run(
    folder: RunFolder,
    experiment: Experiment,
    evaluator: Evaluator,
    report: Callable[[Accuracy], None] | None = None,
    max_length: int | None = None,
) -> list[Accuracy]:
    """Tests a run at every length that is not yet in the store; returns all of its accuracies.

    The caller holds the run's lock, unless nothing is left to test.
    """
    if folder.status() == "diverged":
        return []
    missing = untested(folder, experiment, max_length)
    done = {a.length: a for a in read_accuracies(folder.path, experiment)}
    parameters = eqx.filter(load_model(folder), eqx.is_array) if missing else None
    for accuracy in evaluator.test(parameters, missing):
        done[accuracy.length] = accuracy
        write_accuracies(folder.path, experiment, sorted(done.values()))
        if report is not None:
            report(accuracy)
    return [done[n] for n in lengths_to_test(experiment, max_length)]

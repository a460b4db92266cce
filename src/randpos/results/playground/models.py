"""Trained models as data for a browser: what they are, and their weights in half precision."""

import base64
import warnings
import zlib
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from randpos.encodings.alibi import slopes
from randpos.errors import UserError
from randpos.experiment import Experiment, split_name
from randpos.export import describe, torch_arrays
from randpos.nn.model import Encoder
from randpos.plain_data import flat
from randpos.results.scores import score_runs
from randpos.results.tables.labels import encoding_label
from randpos.run import Run
from randpos.setup import resolve
from randpos.store.accuracies import MEASUREMENTS
from randpos.store.folder import RunFolder, Store
from randpos.store.rows import RUNS, run_row
from randpos.store.tables import StoreTables
from randpos.tasks import PAPER_TASKS

ENCODINGS = ("none", "sincos", "relative", "alibi", "rope", "learned")
"""The encodings that the forward pass of the page computes."""
READINGS = ("positions", "distances")
UNDERSTOOD = {
    *("task", "encoding", "steps", "batch", "learning_rate", "clip", "seed", "test_length"),
    *("positions.maximum", "positions.reading", "positions.draw"),
    *("model.layers", "model.heads", "model.dim", "model.hidden", "model.dropout", "model.causal"),
}
"""Settings that the page respects, or that only training depends on."""
TRAINING = ("lengths.", "optimizer.", "evaluation.")
"""Groups of settings that a trained model does not depend on."""
Precision = Literal["float16", "float32"]


class Player(NamedTuple):
    """A trained model of the playground."""

    run: str
    """The name of the run."""
    experiment: Experiment
    model: Encoder
    score: float | None = None
    """The mean accuracy beyond the lengths of training, if the run was tested."""
    in_domain: float | None = None
    """The mean accuracy on the lengths of training."""

    @classmethod
    def load(cls, folder: RunFolder) -> "Player":
        """Reads a trained run; one that the playground cannot run raises `UserError`."""
        run = Run((folder,))
        check_supported(folder.path.name, run.experiment())
        return cls(folder.path.name, run.experiment(), run.model(), *shares_of(folder))


def shares_of(folder: RunFolder) -> tuple[float | None, float | None]:
    """Returns the score and the in-domain accuracy of a run, in the test that counts in tables."""
    accuracies = MEASUREMENTS.merge([MEASUREMENTS.scan([folder.path])], folder.path.parent)
    runs = pl.DataFrame([run_row(folder)], schema=RUNS, orient="row")
    return score_runs(StoreTables(runs, accuracies)).select("score", "in_domain").row(0)


def load_players(store: Store, names: Sequence[str] = ()) -> list[Player]:
    """Reads the named runs, or all trained ones that the page can run; it warns of the others."""
    if names:
        return [Player.load(store.find(name)) for name in names]
    players = []
    for folder in store.runs():
        if folder.parameters.is_file():
            try:
                players.append(Player.load(folder))
            except UserError as error:
                warnings.warn(str(error), stacklevel=2)
    if not players:
        raise UserError(f"{store.path} holds no trained model for the playground; name a run.")
    return players


def check_supported(run: str, experiment: Experiment) -> None:
    """Raises `UserError` if the page cannot run a model of this experiment."""
    prefix, encoding = split_name(experiment.encoding)
    randomized, draw = bool(prefix), experiment.positions.draw
    name = f"run {run} cannot be in the playground: "
    if experiment.task not in PAPER_TASKS:
        raise UserError(
            f"{name}the page has no answers for task={experiment.task!r}; leave it out."
        )
    if encoding not in ENCODINGS or prefix == "unsorted":
        raise UserError(
            f"{name}encoding={experiment.encoding_name!r} is none of {', '.join(ENCODINGS)} and "
            "their randomized forms; leave it out."
        )
    if randomized and experiment.reading not in READINGS:
        raise UserError(
            f"{name}reading={experiment.reading!r} is none of {', '.join(READINGS)}; leave it out."
        )
    if randomized and draw != "per_batch":
        raise UserError(f"{name}draw={draw!r} is not per_batch; leave it out.")
    usual = flat(Experiment().to_dict())
    for field, value in flat(experiment.to_dict()).items():
        ignored = field in UNDERSTOOD or field.startswith(TRAINING)
        if not ignored and value != usual.get(field):
            raise UserError(f"{name}the page does not know {field}={value!r}; leave it out.")


def facts(player: Player) -> dict[str, Any]:
    """Returns all that the page knows of a model but its weights."""
    experiment, about = player.experiment, describe(player.model)
    setup, (prefix, encoding) = resolve(experiment), split_name(experiment.encoding)
    maximum = experiment.positions.maximum if prefix else None
    return {
        "run": player.run,
        "task": experiment.task,
        "name": experiment.encoding_name,
        "label": encoding_label(experiment.encoding_name),
        "encoding": about["encoding"],
        "architecture": about["architecture"],
        "slopes": slopes(experiment.model.heads).tolist(),
        "randomized": bool(prefix),
        "reading": experiment.reading,
        "maximum": maximum,
        # The longest sequence that the model has positions for.
        "limit": maximum or (about["positions"] if encoding == "learned" else None),
        "training_length": experiment.lengths.maximum,
        "training_total": int(setup.layout.total_length(experiment.lengths.maximum)),
        "seed": experiment.seed,
        "steps": experiment.steps,
        "batch": experiment.batch,
        "test_length": experiment.test_length,
        "score": player.score,
        "in_domain": player.in_domain,
        "arrays": [[name, x.size] for name, x in torch_arrays(player.model).items()],
    }


def packed_weights(player: Player, precision: Precision) -> str:
    """Returns all weights in the order of `facts`, compressed, as base64.

    First come the low bytes of all numbers and last the high ones, which repeat and so compress.
    """
    weights = np.concatenate([x.ravel() for x in torch_arrays(player.model).values()])
    with np.errstate(over="ignore"):
        numbers = weights.astype(np.dtype(precision).newbyteorder("<"))
    if not np.isfinite(numbers).all():
        raise UserError(
            f"run {player.run} cannot be in the playground: some weights are not finite as "
            f"{precision}; leave it out."
        )
    planes = numbers.view(np.uint8).reshape(numbers.size, -1).T
    return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode()

"""The table of runs: one row for the settings, the state and the result of a run."""

import json
from typing import Any

import polars as pl

from randpos.errors import UserError
from randpos.experiment import ALIASES, Experiment
from randpos.facts import combinations, tasks
from randpos.store.files import read_json
from randpos.store.folder import RunFolder

RUNS = {
    "run": pl.String,
    "task": pl.String,
    "encoding": pl.String,
    "seed": pl.UInt32,
    "learning_rate": pl.Float64,
    "steps": pl.Int64,
    "batch": pl.Int64,
    "training_length": pl.Int64,
    "test_length": pl.Int64,
    "maximum": pl.Int64,
    "reading": pl.String,
    "draw": pl.String,
    "status": pl.String,
    "step": pl.Int64,
    "seconds": pl.Float64,
    "reason": pl.String,
    "config": pl.String,
    "environment": pl.String,
    "curve": pl.String,
}
"""The digest, settings, status (`store.result.Status`) and result of a run; as JSON, the whole
experiment, the environment and the learning curve (step, loss, accuracy)."""


def settings_columns(experiment: Experiment) -> dict[str, Any]:
    """Returns the columns that an experiment decides."""
    return {
        "run": experiment.digest,
        "task": experiment.task,
        "encoding": experiment.encoding_name,
        "seed": experiment.seed,
        "learning_rate": experiment.learning_rate,
        "steps": experiment.steps,
        "batch": experiment.batch,
        "training_length": experiment.lengths.maximum,
        "test_length": experiment.test_length,
        "maximum": experiment.positions.maximum,
        "reading": experiment.reading,
        "draw": experiment.positions.draw,
        "config": json.dumps(experiment.to_dict()),
    }


def run_row(folder: RunFolder) -> dict[str, Any]:
    """Reads a run's row.

    Raises:
        UserError: A file is damaged, or the folder is not named by the digest of its experiment.
    """
    try:
        settings = settings_columns(stored_experiment(folder.settings()))
    except UserError as error:
        if str(folder.path) in str(error):
            raise
        raise UserError(f"{folder.path / 'config.json'}: {error}") from error
    if settings["run"] != folder.path.name:
        raise UserError(
            f"{folder.path} holds another run; its name must be the digest of its config.json."
        )
    result, path = folder.result(), folder.path / "environment.json"
    environment = read_json(path) if path.is_file() else {}
    if not isinstance(environment, dict):
        raise UserError(f"{path} is damaged: it is not an object.")
    row = {
        **settings,
        "status": folder.status(),
        "step": result and result.step,
        "seconds": result and result.seconds,
        "reason": folder.failure(),
        "environment": json.dumps(environment),
        "curve": json.dumps(result.curve if result else []),
    }
    # Half of a surrogate pair is valid JSON but not valid text.
    return {k: v.encode(errors="replace").decode() if type(v) is str else v for k, v in row.items()}


def stored_experiment(settings: Any) -> Experiment:
    """Builds the experiment of a stored configuration, and checks the names of its parts.

    The registries, which load JAX, are used only for names that are not in `facts`.
    A user's own task or encoding is not imported: reading a store must not run code that
    it names.
    """
    experiment = Experiment.from_dict(settings)
    if ":" not in experiment.task and experiment.task not in tasks():
        from randpos.tasks import get_task

        get_task(experiment.task)
    if ":" not in experiment.encoding:
        combination_name(experiment.encoding)
    return experiment


def combination_name(name: str) -> str:
    """Returns the stable name of a combination; an unknown one raises `UserError`."""
    name = ALIASES.get(name, name)
    if name in combinations():
        return name
    from randpos.catalog import get_combination

    return get_combination(name).name

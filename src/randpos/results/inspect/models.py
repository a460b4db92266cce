"""Loads trained models from a store and records what happens inside them on a batch."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import polars as pl
from jaxtyping import Array, Float, Key

from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.nn.model import Encoder, Trace
from randpos.results.scores import best_runs, counted_runs, score_runs
from randpos.results.selection import like_with_like, select
from randpos.run import Run
from randpos.setup import resolve
from randpos.store.folder import RunFolder
from randpos.store.tables import StoreTables
from randpos.training.batch import assemble, draw_batch, right_answers

Kept = TypeVar("Kept")
LONG = 150
"""The length beyond training at which the paper looks into its models."""


class Trained(NamedTuple):
    """A trained model and its experiment."""

    experiment: Experiment
    model: Encoder


def best_trained(
    records: StoreTables, store: Path, task: str, encodings: tuple[str, ...], remedy: str
) -> list[Trained]:
    """Loads the best run of each encoding on a task, of one budget and over shared seeds and rates.

    Args:
        records: What the store holds.
        store: The store itself, where the parameters are.
        task: A task's name.
        encodings: Names of combinations.
        remedy: The command that trains what is missing, for the message.
    """
    named = (pl.col("task") == task) & pl.col("encoding").is_in(encodings)
    scored = score_runs(records).filter(named, pl.col("score").is_not_null())
    runs = like_with_like(counted_runs(select(scored, scored, None).runs), ["encoding"], ["task"])
    found = dict(best_runs(runs, ["encoding"]).select("encoding", "run").iter_rows())
    models = []
    for encoding in encodings:
        if encoding not in found:
            raise UserError(
                f"{store} holds no trained and tested run of {encoding} on {task}; "
                f"run {remedy} first."
            )
        run = Run((RunFolder(store / found[encoding]),))
        if not run.folders[0].parameters.is_file():
            raise UserError(
                f"{store} holds the results of run {found[encoding]} ({encoding} on {task}) but "
                f"not its parameters; run {remedy} to train it here."
            )
        models.append(Trained(run.experiment(), run.model()))
    return models


def usual_lengths(experiment: Experiment) -> tuple[int, int]:
    """Returns N, and the length beyond it to look at: 150, or M if that is shorter."""
    return experiment.lengths.maximum, min(LONG, experiment.test_length)


class Observed(NamedTuple):
    """Facts of one batch that ran through a model."""

    first: int
    """The place of the first placeholder, where the answer begins."""
    answers: int
    """The number of placeholders, which end the sequence."""
    accuracy: float
    """Share of the counted output tokens that were right."""


def observe(
    trained: Trained, length: int, sequences: int, seed: int, keep: Callable[[Trace], Kept]
) -> tuple[Kept, Observed]:
    """Runs a new batch of one length through a model, as evaluation does.

    Args:
        trained: The model and its experiment.
        length: The length n of the sequences.
        sequences: How many of them; they share one draw of positions.
        seed: Source of the sequences and the positions.
        keep: Selects from the trace; the rest of it need not fit in memory.
    """
    experiment, model = trained
    if not 1 <= length <= experiment.test_length:
        raise UserError(
            f"length={length} must lie between 1 and M={experiment.test_length}, "
            "the test length that the run was made for."
        )
    layout = resolve(experiment).layout
    kept, right = _run(experiment, model, jax.random.key(seed), length, sequences, keep)
    first, answers = layout.prompt_length(length), layout.task.output_length(length)
    return kept, Observed(int(first), int(answers), float(right))


@eqx.filter_jit
def _run(
    experiment: Experiment,
    model: Encoder,
    key: Key[Array, ""],
    length: int,
    sequences: int,
    keep: Callable[[Trace], Kept],
) -> tuple[Kept, Float[Array, ""]]:
    """Returns what `keep` selects, and the accuracy, as one program."""
    setup = resolve(experiment)
    to_batch, to_positions = jax.random.split(key)
    batch, positions = draw_batch(setup, to_batch, to_positions, length, sequences, length)
    tokens, mask, _, (first, answers) = assemble(setup.layout, batch, length)
    trace = model.trace(tokens, positions, mask=mask)
    logits = jax.lax.dynamic_slice_in_dim(trace.logits, first, answers, axis=1)
    right = jnp.sum(right_answers(logits, batch))
    return keep(trace), right / jnp.sum(batch.counted)

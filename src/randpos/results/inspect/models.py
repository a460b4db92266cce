"""Loads trained models from a store and records what happens inside them on a batch."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import polars as pl
from jaxtyping import Array, Float, Key

from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.nn.model import Encoder, Trace
from randpos.numerics import compiler_options
from randpos.results.scores import BUDGET, counted_runs, score_runs
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
    """Loads a trained model of each encoding on a task, all of one budget, seed and learning rate.

    Of several such groups it takes the one with the highest in-domain accuracy, the mean over the
    encodings, then with the highest score: what a model does inside tells little before it has
    learnt its task.

    Args:
        records: What the store holds.
        store: The store itself, where the parameters are.
        task: A task's name.
        encodings: Names of combinations.
        remedy: The command that trains what is missing, for the message.
    """
    named = (pl.col("task") == task) & pl.col("encoding").is_in(encodings)
    tested = counted_runs(score_runs(records)).filter(named, pl.col("in_domain").is_not_null())
    kept = pl.col("run").map_elements(
        lambda run: RunFolder(store / run).parameters.is_file(), pl.Boolean
    )
    whole = tested.filter(kept)
    for encoding in encodings:
        runs = tested.filter(encoding=encoding)
        if runs.is_empty():
            raise UserError(
                f"{store} holds no trained and tested run of {encoding} on {task}; "
                f"run {remedy} first."
            )
        if whole.filter(encoding=encoding).is_empty():
            raise UserError(
                f"{store} holds the results of run {runs['run'][0]} ({encoding} on {task}) but "
                f"not its parameters; run {remedy} to train it here."
            )
    # Two runs of a group may differ in how positions are drawn: the better one counts.
    means = pl.col("in_domain", "score")
    alike = [*BUDGET, "seed", "learning_rate"]
    best = whole.sort("in_domain", "score", "run", descending=[True, True, False])
    best = best.unique([*alike, "encoding"], keep="first", maintain_order=True)
    groups = best.group_by(alike).agg(means.mean(), pl.col("encoding", "run"))
    groups = groups.filter(pl.col("encoding").list.len() == len(encodings))
    if groups.is_empty():
        raise UserError(
            f"{store} holds no models of {' and '.join(encodings)} on {task} that share a budget, "
            f"a seed and a learning rate; run {remedy} to train them."
        )
    chosen = groups.sort("in_domain", "score", *alike, descending=[True, True, *[False] * 7])
    runs = dict(zip(chosen["encoding"][0], chosen["run"][0], strict=True))
    found = [Run((RunFolder(store / runs[encoding]),)) for encoding in encodings]
    return [Trained(run.experiment(), run.model()) for run in found]


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
    kept, right = _compiled()(experiment, model, jax.random.key(seed), length, sequences, keep)
    first, answers = layout.prompt_length(length), layout.task.output_length(length)
    return kept, Observed(int(first), int(answers), float(right))


@cache
def _compiled() -> Callable[..., Any]:
    """Returns `_run` compiled with the package's options, which depend on the backend."""
    options: dict[str, Any] = {"compiler_options": compiler_options()}
    return eqx.filter_jit(_run, **options)


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

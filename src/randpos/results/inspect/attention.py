"""Attention of a model, as the maximum over the heads of each layer (appendix B.3)."""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array, Float

from randpos.nn.model import Trace
from randpos.results.inspect.models import Trained, observe
from randpos.sweeps.grid import program

Matrix = Float[np.ndarray, "time time"]


class Attention(NamedTuple):
    """The attention of every layer on one sequence, maximized over the heads."""

    task: str
    encoding: str
    trained_seed: int
    """The seed of the training."""
    length: int
    seen: int
    """N, the longest length of training."""
    first: int
    """The row and column of the first placeholder, where the answer begins."""
    accuracy: float
    """Share of this sequence's counted output tokens that were right."""
    layers: tuple[Matrix, ...]
    """Rows are queries, columns are keys."""


def over_heads(trace: Trace) -> tuple[Float[Array, "batch time time"], ...]:
    """Returns for each layer the maximum of the heads' attention weights."""
    return tuple(jnp.max(weights, axis=1) for weights in trace.attention)


def look_at_attention(trained: Trained, length: int, *, seed: int = 0) -> Attention:
    """Returns the attention of a model on one new sequence of the given length."""
    kept, seen = observe(trained, length, 1, seed, over_heads)
    return Attention(
        trained.experiment.task,
        trained.experiment.encoding_name,
        trained.experiment.seed,
        length,
        trained.experiment.lengths.maximum,
        seen.first,
        seen.accuracy,
        tuple(np.asarray(x[0], np.float64) for x in kept),
    )


def mean_entropies(trace: Trace) -> Float[Array, " layer"]:
    """Returns for each layer the entropy of a query's weights in nats: mean over queries and heads.

    Attention to a single key has entropy 0, and uniform attention to n keys log n.
    """
    return jnp.stack([jnp.mean(jnp.sum(entr(w), axis=-1)) for w in trace.attention])


def attention_entropy(
    trained: Trained, lengths: Sequence[int], *, sequences: int = 16, seed: int = 0
) -> Float[np.ndarray, "length layer"]:
    """Returns the mean entropy of attention at each length and layer, over new sequences.

    The sequences of a length share a draw of positions, unless the run draws them per example.
    """
    # Runs that differ in seed and rate only share one compiled program.
    same = Trained(program(trained.experiment), trained.model)
    found = [observe(same, length, sequences, seed, mean_entropies)[0] for length in lengths]
    return np.asarray(found, np.float64)


def on_antidiagonal(matrix: Matrix, first: int) -> float:
    """Returns the share of answering rows that attend most to their mirror image in the input.

    Reversing needs this: the first answer is the last input token. Chance is one over the number
    of tokens. One arm of the paper's X is this anti-diagonal.

    Args:
        matrix: Attention on a sequence of reverse_string.
        first: The row of the first placeholder.
    """
    rows = np.arange(first, len(matrix))
    return float(np.mean(matrix[rows].argmax(axis=1) == len(matrix) - 1 - rows))

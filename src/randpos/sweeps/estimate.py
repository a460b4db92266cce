"""What a run costs before it is run: floating-point operations, hours, and bytes on the disk."""

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from randpos.experiment import Experiment
from randpos.training.batch import total_length
from randpos.training.evaluation import lengths_to_test
from randpos.training.lengths import Schedule
from randpos.training.step import make_engine, member


def forward(experiment: Experiment, length: int) -> float:
    """Returns the operations of one example's forward pass; matrix products only.

    With T tokens, |y| answers, width d and feed-forward width h, a block takes 8 d² + 4 d h per
    token and 4 T d per query; the last block asks |y| queries only, and its keys and values cost
    4 d² per token. Relative adds 2 d² + 2 T d·heads per query, geometric as much as the logits.
    """
    model = experiment.model
    d, h, blocks = model.dim, model.hidden, model.layers
    tokens = int(total_length(experiment.problem, length))
    answers = int(experiment.problem.output_length(length))
    per_query = 4 * d * d + 4 * d * h + 4 * tokens * d
    kind = experiment.combination.encoding.name
    if kind == "relative":
        per_query += 2 * d * d + 2 * tokens * d * model.heads
    elif kind == "geometric":
        per_query += 2 * tokens * d
    queries = (blocks - 1) * tokens + answers
    return queries * per_query + blocks * tokens * 4 * d * d


def training(experiment: Experiment) -> float:
    """Returns the operations of training: a backward pass is two forward passes."""
    schedule = experiment.lengths
    lengths = [schedule.maximum] if schedule.name == "fixed" else range(1, schedule.maximum + 1)
    mean = sum(forward(experiment, n) for n in lengths) / len(lengths)
    return 3 * mean * experiment.batch * experiment.steps


def testing(experiment: Experiment) -> float:
    """Returns the operations of testing at all lengths that are asked for."""
    lengths = lengths_to_test(experiment)
    return experiment.evaluation.batch * sum(forward(experiment, n) for n in lengths)


def parameters(experiment: Experiment) -> int:
    """Returns the number of parameters."""
    shapes, _ = experiment.skeleton()
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(shapes))


def disk(experiment: Experiment) -> int:
    """Returns the bytes that a finished run takes: its parameters, metrics and accuracies."""
    return 4 * parameters(experiment) + experiment.steps // 100 * 160 + 20_000


class Cost(NamedTuple):
    """What a set of runs costs."""

    runs: int
    training: float
    testing: float
    disk: int

    @property
    def operations(self) -> float:
        """Operations of everything."""
        return self.training + self.testing


def cost(experiments: Sequence[Experiment]) -> Cost:
    """Adds up what experiments cost; those that differ in seed and rate cost the same."""
    known: dict[Experiment, Cost] = {}
    total = Cost(0, 0.0, 0.0, 0)
    for one in experiments:
        common = dataclasses.replace(one, seed=0, learning_rate=1.0)
        if common not in known:
            known[common] = Cost(1, training(one), testing(one), disk(one))
        new = known[common]
        total = Cost(
            total.runs + 1,
            total.training + new.training,
            total.testing + new.testing,
            total.disk + new.disk,
        )
    return total


def calibrate(steps: int = 5) -> float:
    """Measures the operations per second of training the paper's model here, in this process."""
    experiment = Experiment(encoding="none", steps=steps, lengths=Schedule("fixed", 40))
    engine, who = make_engine(experiment), member(experiment)
    state = engine.start(who)
    bounds = [jnp.asarray(n, jnp.int32) for n in (0, 0, 1, 1 + steps)]
    jax.block_until_ready(engine.advance(state, who, bounds[0], bounds[1]))
    jax.block_until_ready(engine.advance(state, who, bounds[1], bounds[2]))
    began = time.perf_counter()
    jax.block_until_ready(engine.advance(state, who, bounds[2], bounds[3]))
    return training(experiment) / (time.perf_counter() - began)

"""What runs cost, beside what XLA counts."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from randpos import Evaluation, Experiment, Schedule, resolve
from randpos.sweeps import estimate
from randpos.sweeps.estimate import cost, disk, forward, parameters, training
from randpos.training import engine
from randpos.training.batch import assemble
from randpos.training.tested_lengths import lengths_to_test
from tests.experiments import random_model, tiny

KINDS = ["none", "sincos", "relative", "rope", "alibi", "randomized-relative", "randomized-rope"]
"""Not geometric: most of what it computes is not matrix products, which the formula counts."""
FEW = ("none", "relative")


def counted(experiment: Experiment, length: int, batch: int = 128) -> float:
    """The operations of one example's forward pass, as XLA counts them in the compiled program."""
    task, model = resolve(experiment).task, random_model(experiment)
    arrays, static = eqx.partition(model, eqx.is_array)
    sample = task.sample(jax.random.key(0), length, batch, length)
    sequences = assemble(resolve(experiment).layout, sample, jnp.asarray(length))
    tokens = sequences.tokens.shape[1]
    where = resolve(experiment).scheme.sample(jax.random.key(1), tokens, tokens)

    def run(arrays, tokens, where):
        return eqx.combine(arrays, static)(tokens, where, outputs=sequences.outputs)

    found = jax.jit(run).lower(arrays, sequences.tokens, where).cost_analysis()
    assert found is not None
    return found["flops"] / batch


@pytest.mark.parametrize(
    ("encoding", "task", "length"),
    [
        *((name, "reverse_string", 60) for name in KINDS),
        *(
            pytest.param(n, "even_pairs", 100, marks=() if n in FEW else pytest.mark.slow)
            for n in KINDS
        ),
        ("relative", "even_pairs", 40),  # few enough tokens for a table of all pairs
    ],
)
def test_the_formula_is_within_a_tenth_of_what_xla_counts(encoding, task, length):
    experiment = Experiment(task=task, encoding=encoding)
    assert forward(experiment, length) == pytest.approx(counted(experiment, length), rel=0.1)


def test_training_is_three_forward_passes_over_the_schedule():
    experiment = tiny(steps=7, batch=5, lengths=Schedule("uniform", 4))
    mean = sum(forward(experiment, n) for n in (1, 2, 3, 4)) / 4
    assert training(experiment) == pytest.approx(3 * 7 * 5 * mean)
    fixed = dataclasses.replace(experiment, lengths=Schedule("fixed", 4))
    assert training(fixed) == pytest.approx(3 * 7 * 5 * forward(fixed, 4))


def test_testing_is_one_forward_pass_per_example_and_length():
    experiment = tiny(evaluation=Evaluation(stride=3, batch=11))
    lengths = lengths_to_test(experiment)
    found = estimate.testing(experiment)
    assert found == pytest.approx(11 * sum(forward(experiment, n) for n in lengths))


@pytest.mark.parametrize(("encoding", "count"), [("none", 249_026), ("relative", 270_146)])
def test_parameters_are_counted(encoding, count):
    # The same counts as `randpos encodings` prints.
    assert parameters(Experiment(task="even_pairs", encoding=encoding)) == count


def test_the_cost_of_many_is_the_sum_of_each():
    runs = [tiny(seed=s, task=t) for s in range(3) for t in ("even_pairs", "reverse_string")]
    each = [(training(settings), estimate.testing(settings), disk(settings)) for settings in runs]
    found = cost(runs)
    assert found.runs == 6
    assert (found.training, found.testing, found.disk) == pytest.approx(
        tuple(map(math.fsum, zip(*each, strict=True)))
    )
    assert cost([]).operations == 0


def test_a_compilation_counts_in_full_when_the_program_is_in_the_cache(monkeypatch):
    def read_from_cache(*_):
        name = "/jax/compilation_cache/compile_time_saved_sec"
        jax.monitoring.record_event_duration_secs(name, 1000.0)

    monkeypatch.setattr(engine, "bucket_count", lambda *_: 2)
    monkeypatch.setattr(engine.Engine, "programs", read_from_cache)
    monkeypatch.setattr(engine.Engine, "advance_packed", lambda *_: None)
    speed = estimate.measure_speed(tiny())
    assert 2000 <= speed.compilation < 2100
    assert speed.operations > 0


def test_a_sweep_takes_its_compilations_and_its_operations():
    runs = [tiny(seed=s, task=t) for s in range(3) for t in ("even_pairs", "reverse_string")]
    speed = estimate.Speed(operations=1e6, compilation=10.0)
    compiling, working = speed.seconds(runs, workers=2)
    # Each program is compiled for training and for the sizes 4 and 6; two workers share them.
    assert compiling == pytest.approx(10.0 * (1 + 2 * estimate.TEST_COMPILATION))
    assert working == pytest.approx(cost(runs).operations / 1e6 / 2)
    assert speed.seconds([], 2) == (0, 0)

"""The training program: one step against its definition, and what must not change a step."""

import itertools
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos import (
    Architecture,
    Experiment,
    PositionOptions,
    Positions,
    Schedule,
    get_task,
    resolve,
)
from randpos.numerics import random_stream
from randpos.tasks import PAPER_TASKS
from randpos.training import engine as training
from randpos.training import step as steps
from randpos.training.batch import assemble
from randpos.training.engine import STEPS_PER_CALL, Engine
from randpos.training.lengths import buckets, step_length
from randpos.training.step import Member, State, draw_step, gradients, make_member
from tests.cases import only
from tests.experiments import random_model, shared_engine, tiny
from tests.oracles.training import Adam, clip, cross_entropy, gradient, loss
from tests.small import doubles


def at(number: int) -> jax.Array:
    return jnp.asarray(number, jnp.int32)


def step_key(seed: int, number: int) -> jax.Array:
    """The key of a training step."""
    return jax.random.fold_in(random_stream("training", seed), number)


def run(
    engine: Engine, who: Member, *stops: int, state: State | None = None
) -> tuple[Any, list[float], list[float]]:
    """Trains from one stop to the next; returns the state, and loss and accuracy of all steps."""
    state = engine.start(who) if state is None else state
    losses, accuracies = [], []
    for first, last in itertools.pairwise(stops):
        state, metrics = engine.advance(state, who, first, last)
        losses += metrics.loss.tolist()
        accuracies += metrics.accuracy.tolist()
    return state, losses, accuracies


def same(left: Any, two: Any) -> bool:
    """Whether all arrays agree to the last bit."""
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(two), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def distance(left: Any, two: Any) -> float:
    """How far two trees of arrays are apart, relative to their size."""
    flat = [np.concatenate([np.ravel(x) for x in jax.tree.leaves(t)]) for t in (left, two)]
    return float(np.linalg.norm(flat[0] - flat[1]) / np.linalg.norm(flat[1]))


# One step, against its definition.

SMALL = Architecture(layers=1, heads=2, dim=4, hidden=4, dropout=0.0)
BETWEEN = 0.3
"""Between the norms of the two gradients below, so that one is clipped and the other is not."""


def test_two_steps_are_loss_gradient_clipping_and_adam():
    experiment = tiny(model=SMALL, batch=2, clip=BETWEEN, lengths=Schedule("fixed", 2), seed=3)
    engine, who = Engine(experiment), make_member(experiment)
    start = engine.start(who)
    trained, losses, _ = run(engine, who, 0, 2, state=start)

    setup = resolve(experiment)
    _, static = setup.skeleton
    model = doubles(eqx.combine(start.parameters, static))
    parameters = [np.array(x) for x in jax.tree.leaves(eqx.filter(model, eqx.is_array))]
    _, structure = jax.tree.flatten(eqx.filter(model, eqx.is_array))
    # The oracle's model looks into these very arrays.
    model = eqx.combine(jax.tree.unflatten(structure, parameters), static)
    slots = Adam([np.zeros_like(p) for p in parameters], [np.zeros_like(p) for p in parameters])
    norms, draw = [], jax.jit(partial(draw_step, setup))
    for number in range(2):
        (batch, positions), _ = draw(step_key(3, number), at(2))
        tokens = np.asarray(assemble(setup.layout, batch, at(2)).tokens)
        assert isinstance(positions, Positions)
        where = [(np.asarray(positions.key), np.asarray(positions.offsets))]
        measure = partial(loss, model, tokens, np.asarray(batch.outputs), where)
        assert losses[number] == pytest.approx(measure(), rel=1e-5)
        slopes = gradient(measure, parameters)
        norms.append(np.sqrt(sum((g**2).sum() for g in slopes)))
        slopes = clip(slopes, BETWEEN)
        slots = slots.step(parameters, slopes, experiment.learning_rate)
    found = [np.asarray(x) for x in jax.tree.leaves(trained.parameters)]
    assert min(norms) < BETWEEN < max(norms), norms
    for mine, wanted in zip(found, parameters, strict=True):
        # A thousandth of a step of Adam; float32 rounds by up to 3e-6, depending on the processor.
        np.testing.assert_allclose(mine, wanted, rtol=0, atol=1e-5)


def test_loss_counts_what_follows_the_terminator_and_accuracy_does_not():
    experiment = tiny(task="stack_manipulation", model=SMALL, encoding="none", batch=16)
    model = random_model(experiment)
    # Zeros are what follows the terminator: a model that says zero is right where it cannot count.
    model = eqx.tree_at(lambda m: m.head.bias, model, jnp.asarray([2.0, 0.0, 0.0]))
    parameters, length = eqx.filter(model, eqx.is_array), at(4)
    setup = resolve(experiment)

    @jax.jit
    def program(parameters):
        drawn, dropout = draw_step(setup, jax.random.key(2), length)
        sequences = assemble(setup.layout, drawn.batch, length)
        return drawn, sequences, gradients(setup, 4, parameters, drawn, dropout, length)

    drawn, sequences, (_, found, accuracy) = program(parameters)
    logits = np.asarray(eqx.filter_jit(model)(sequences.tokens, drawn.positions))[:, -5:]
    answers, counted = np.asarray(drawn.batch.outputs), np.asarray(drawn.batch.counted)
    every = [cross_entropy(logits[i, j], int(answers[i, j])) for i, j in np.ndindex(answers.shape)]
    right = logits.argmax(-1) == answers
    assert float(found) == pytest.approx(np.mean(every), rel=1e-5)
    assert float(accuracy) == pytest.approx(right[counted].mean(), rel=1e-6)
    assert right[~counted].any()


# What must not change a step.

SHORT = {"test_length": 8, "lengths": Schedule("uniform", 8)}
CASES = {
    "relative": tiny(
        task="binary_addition",
        encoding="randomized-relative",
        **SHORT,
        positions=PositionOptions(maximum=32, draw="per_layer"),
        model=Architecture(layers=2, heads=2, dim=8, hidden=8, dropout=0.3),
    ),
    "geometric": tiny(
        task="missing_duplicate",
        encoding="geometric",
        **SHORT,
    ),
    "per example": tiny(
        task="binary_addition",
        encoding="randomized-relative",
        **SHORT,
        positions=PositionOptions(maximum=32, draw="per_example"),
        model=Architecture(2, 2, 8, 8, dropout=0.3, attention_scale="log"),
    ),
}


def padded_step(experiment: Experiment, length: int, size: int):
    """Gradient, loss and accuracy of a step that is padded to a size."""
    parameters, setup = eqx.filter(random_model(experiment), eqx.is_array), resolve(experiment)

    @jax.jit
    def program(parameters, length):
        drawn = draw_step(setup, jax.random.key(2), length)
        return gradients(setup, size, parameters, *drawn, length)

    return program(parameters, at(length))


@pytest.mark.parametrize("name", only(["relative"], CASES))
def test_padding_changes_neither_loss_nor_gradient(name):
    exact, padded = (padded_step(CASES[name], 5, size) for size in (5, 8))
    assert float(padded[1]) == pytest.approx(float(exact[1]), rel=1e-6)
    assert distance(padded[0], exact[0]) < 1e-6
    assert float(padded[2]) == float(exact[2])


@pytest.mark.parametrize("name", only(["per example"], ["relative", "per example"]))
def test_pieces_change_neither_loss_nor_gradient(name, monkeypatch):
    monkeypatch.setattr(steps, "TOKENS", 10**9)
    whole = padded_step(CASES[name], 5, 5)
    monkeypatch.setattr(steps, "TOKENS", 40)
    pieces = padded_step(CASES[name], 5, 5)
    assert steps.cache_pieces(8, 11) == 4
    assert float(pieces[1]) == pytest.approx(float(whole[1]), rel=1e-6)
    assert distance(pieces[0], whole[0]) < 1e-6
    assert float(pieces[2]) == float(whole[2])


def test_a_step_is_padded_to_the_smallest_size_that_fits(monkeypatch):
    def sized(setup, size, parameters, drawn, dropout, length):
        nothing = jax.tree.map(jnp.zeros_like, parameters)
        return nothing, jnp.asarray(size, jnp.float32), jnp.asarray(length, jnp.float32)

    monkeypatch.setattr(training, "gradients", sized)
    experiment = tiny(encoding="none", lengths=Schedule("uniform", 9), test_length=9)
    monkeypatch.setattr(training, "bucket_count", lambda *_: 5)
    sizes = buckets(9, 5)
    _, chosen, lengths = run(
        Engine(experiment), make_member(experiment), *range(0, 101, STEPS_PER_CALL)
    )
    assert set(lengths) == set(range(1, 10))
    assert chosen == [min(size for size in sizes if size >= length) for length in lengths]
    assert lengths[:3] == [float(step_length(experiment.lengths, step)) for step in range(3)]


def test_several_sizes_train_as_one_size_does(monkeypatch):
    experiment = tiny(encoding="none", lengths=Schedule("uniform", 4), learning_rate=1e-3)
    found = {}
    for count in (1, 2):
        monkeypatch.setattr(training, "bucket_count", lambda *_, count=count: count)
        found[count] = run(Engine(experiment), make_member(experiment), 0, STEPS_PER_CALL)
    np.testing.assert_allclose(found[2][1], found[1][1], rtol=1e-5)
    assert distance(found[2][0].parameters, found[1][0].parameters) < 1e-4


def test_a_run_may_stop_at_any_step():
    experiment = tiny()
    engine, who = shared_engine(experiment), make_member(experiment)
    straight, broken = run(engine, who, 0, 20, 40), run(engine, who, 0, 1, 2, 7, 20, 20, 40)
    assert same(straight[0], broken[0])
    assert straight[1:] == broken[1:]


def test_another_seed_is_another_run_from_the_start():
    left, two = tiny(seed=0), tiny(seed=1)
    engine = shared_engine(left)
    starts = [engine.start(make_member(e)).parameters for e in (left, two)]
    assert not same(*starts)


def test_a_larger_learning_rate_takes_proportionally_larger_first_steps():
    left, two = tiny(learning_rate=1e-3), tiny(learning_rate=2e-3)
    engine = shared_engine(left)
    start = engine.start(make_member(left))
    after = [run(engine, make_member(e), 0, 1, state=start)[0].parameters for e in (left, two)]
    moves = [jax.tree.map(lambda a, b: a - b, a, start.parameters) for a in after]
    assert distance(moves[1], jax.tree.map(lambda x: 2 * x, moves[0])) < 1e-4


def test_pieces_are_equal_and_fit_the_cache_if_they_can():
    for batch, time in itertools.product((1, 7, 128), (1, 3, 41, 399, 400, 401, 10**6)):
        pieces = steps.cache_pieces(batch, time)
        assert batch % pieces == 0
        assert batch // pieces == 1 or batch // pieces * time <= steps.TOKENS


# The tasks of the paper can be learned. Training batches are new at every step, so the accuracy in
# training is that on unseen examples of the lengths 1..3; all answers follow from the inputs there.


@pytest.mark.parametrize("name", only(["reverse_string"], PAPER_TASKS))
def test_a_small_model_learns_lengths_up_to_three(name, monkeypatch):
    monkeypatch.setattr(training, "bucket_count", lambda *_: 1)
    experiment = Experiment(
        task=name,
        encoding="sincos",
        batch=32,
        learning_rate=3e-3,
        test_length=3,
        model=Architecture(layers=2, heads=4, dim=32, hidden=64, dropout=0.0),
        lengths=Schedule("uniform", 3),
    )
    engine, who = Engine(experiment), make_member(experiment)
    state, best = engine.start(who), 0.0
    for first in range(0, 1600, 100):
        state, _, accuracies = run(
            engine, who, *range(first, first + 101, STEPS_PER_CALL), state=state
        )
        best = max(best, float(np.mean(accuracies)))
        if best >= 0.99:
            return
    pytest.fail(f"{get_task(name).name} reached only {best:.3f}")

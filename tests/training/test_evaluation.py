"""Accuracy per length, and the score."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos import (
    Accuracy,
    Architecture,
    Evaluation,
    Example,
    Experiment,
    Schedule,
    Task,
    UserError,
    preset,
    resolve,
)
from randpos.numerics import random_stream
from randpos.training import evaluation
from randpos.training.batch import assemble
from randpos.training.evaluation import (
    Counts,
    Evaluator,
    join_parts,
    memory_pieces,
    summarize,
)
from randpos.training.mean_accuracy import mean_accuracy
from randpos.training.tested_lengths import lengths_to_test, sizes
from tests.experiments import random_model, tiny

SIX = Schedule("fixed", 6)
"""One size, so that one program serves all lengths up to six."""


# Which lengths count.


def test_the_paper_tests_every_length_up_to_five_hundred():
    assert lengths_to_test(Experiment()) == list(range(1, 501))


LAPTOP = preset("laptop")
STRIDED = [LAPTOP, preset("overnight")]
STRIDED += [Experiment(evaluation=Evaluation(stride=stride)) for stride in (2, 10, 20, 25)]


def weight(experiment: Experiment, first: int, last: int, modulus: int, residue: int) -> float:
    """The mean accuracy of a model that is right at the lengths of one residue only."""
    lengths = lengths_to_test(experiment)
    share = mean_accuracy([Accuracy(n, n % modulus == residue, 0) for n in lengths], first, last)
    assert share is not None
    return share


@pytest.mark.parametrize("experiment", STRIDED, ids=lambda e: f"{e.steps}-{e.evaluation.stride}")
def test_odd_and_even_lengths_weigh_about_the_same_in_all_ranges(experiment):
    seen = experiment.lengths.maximum
    for first, last in ((1, seen), (seen // 2, seen), (seen + 1, experiment.test_length)):
        assert 0.35 <= weight(experiment, first, last, 2, 1) <= 0.65


@pytest.mark.parametrize("modulus", [2, 3, 4, 5])
def test_at_the_laptop_budget_no_residue_has_much_more_weight_than_others(modulus):
    for residue in range(modulus):
        assert abs(weight(LAPTOP, 41, 200, modulus, residue) - 1 / modulus) < 0.08
        for first in (1, 20):
            assert weight(LAPTOP, first, 40, modulus, residue) < 0.55


def test_a_strided_test_takes_no_more_lengths_than_one_in_each_window_and_the_ends():
    assert [len(lengths_to_test(experiment)) for experiment in STRIDED[:2]] == [14, 24]


def test_every_window_of_a_stride_has_a_length():
    experiment = Experiment(test_length=200, evaluation=Evaluation(stride=20))
    windows = {-(-n // 20) for n in lengths_to_test(experiment)}
    assert windows == set(range(1, 11))


@pytest.mark.parametrize("stride", [1, 3, 7, 100])
def test_both_ends_of_both_ranges_are_always_tested(stride):
    found = lengths_to_test(Experiment(evaluation=Evaluation(stride=stride)))
    assert {1, 40, 41, 500} <= set(found)
    assert found == sorted(set(found))
    assert len(found) <= 500 // stride + 4


def test_lengths_beyond_m_leave_the_others_as_they_are():
    planned, found = lengths_to_test(LAPTOP), lengths_to_test(LAPTOP, 201)
    assert found == [*planned, 201]
    longer = lengths_to_test(dataclasses.replace(LAPTOP, encoding="rope"), 390)
    assert longer[: len(planned)] == planned
    assert [-(-n // 20) for n in longer[len(planned) :]] == [*range(11, 21)]


def test_a_shorter_test_ends_at_its_longest_length():
    for longest in (1, 39, 40, 41, 200):
        assert lengths_to_test(Experiment(), longest) == list(range(1, longest + 1))


@pytest.mark.parametrize("longest", [0, -1, 1025])
def test_lengths_that_no_positions_are_left_for_are_refused(longest):
    with pytest.raises(UserError, match=f"max_length={longest} (must be at least 1|of .* L=2048)"):
        lengths_to_test(Experiment(), longest)  # L = 2048, and 2 n tokens
    assert lengths_to_test(Experiment(), 1024) == list(range(1, 1025))


@pytest.mark.parametrize("encoding", ["rope", "relative"])
def test_plain_encodings_are_tested_beyond_m_as_if_it_had_been_planned(encoding):
    short = tiny(encoding=encoding, test_length=6)
    parameters = eqx.filter(random_model(short), eqx.is_array)
    (found,) = Evaluator(short).test(parameters, [20])
    planned = dataclasses.replace(short, test_length=sizes(short, 20)[-1])
    parameters = eqx.filter(random_model(planned), eqx.is_array)
    assert list(Evaluator(planned).test(parameters, [20])) == [found]


def test_few_sizes_serve_all_lengths():
    for seen, longest in ((40, 500), (1, 1), (1, 500), (40, 41), (500, 500)):
        found = sizes(Experiment(lengths=Schedule(maximum=seen), test_length=longest))
        assert found[-1] == longest
        assert found == sorted(found)
        assert len(set(found)) <= 25  # 16 for the default settings


def test_the_longest_sequences_are_computed_in_pieces_within_the_budget(monkeypatch):
    short, long = Experiment(task="missing_duplicate"), Experiment(task="duplicate_string")
    # An example's logits take 8 and 72 MB: a CPU computes one at a time.
    assert [memory_pieces(experiment, 500) for experiment in (short, long)] == [500, 500]
    assert memory_pieces(short, 100) == 84  # pieces of six, of 1.9 MB
    monkeypatch.setattr("jax.default_backend", lambda: "gpu")
    assert [memory_pieces(experiment, 500) for experiment in (short, long)] == [125, 500]


# Accuracies of models whose answers are known.


def constant(experiment: Experiment, answer: int):
    """Parameters of a model that answers the same to everything."""
    model = random_model(experiment)
    head = (
        jnp.zeros_like(model.head.weight),
        1.0 * (jnp.arange(resolve(experiment).task.classes) == answer),
    )
    model = eqx.tree_at(lambda m: (m.head.weight, m.head.bias), model, head)
    return eqx.filter(model, eqx.is_array)


def batch_of(experiment: Experiment, length: int, draw: int = 0, examples: int | None = None):
    """The batch that a draw of a length is tested on, and its positions."""
    options = experiment.evaluation
    key = jax.random.fold_in(random_stream("tests", options.seed), length)
    to_batch, to_positions = jax.random.split(jax.random.fold_in(key, draw))
    setup = resolve(experiment)

    @jax.jit
    def draw_all(to_batch, to_positions):
        batch = setup.task.sample(to_batch, length, examples or options.batch, length)
        tokens = assemble(setup.layout, batch, jnp.asarray(length)).tokens
        time = tokens.shape[1]
        return batch, tokens, setup.scheme.sample(to_positions, time, time)

    return draw_all(to_batch, to_positions)


def test_a_constant_answer_is_right_as_often_as_it_is_the_answer():
    experiment = tiny(lengths=SIX, evaluation=Evaluation(batch=16, seed=4))
    evaluator, answers = Evaluator(experiment), np.asarray(batch_of(experiment, 2)[0].outputs)
    for answer in (0, 1):
        (found,) = evaluator.test(constant(experiment, answer), [2])
        assert found.accuracy == pytest.approx((answers == answer).mean())
        assert found.whole == pytest.approx((answers == answer).all(axis=1).mean())
        assert found.constant


class Ones(Task):
    """A task that a constant answer solves: whatever comes, say 1, then stop."""

    name, level, description = "ones", "R", "All ones."
    symbols, output_symbols, chance, terminator = "01", "012", 0.5, 2

    def output_length(self, length):
        return length

    def example(self, key, length, maximum):
        places = jnp.arange(maximum)
        bits = jax.random.bernoulli(key, shape=(maximum,)).astype(jnp.int32)
        answer = jnp.where(places < length, 1, 0)
        return Example(jnp.where(places < length, bits, 0), answer)


def test_a_perfect_model_is_perfect():
    experiment = tiny(task="tests.training.test_evaluation:Ones", lengths=SIX)
    found = list(Evaluator(experiment).test(constant(experiment, 1), [6, 1, 3]))
    assert found == [Accuracy(n, 1.0, 1.0, constant=True) for n in (1, 3, 6)]


STACK = tiny(
    task="stack_manipulation",
    encoding="randomized-rope",
    lengths=SIX,
    evaluation=Evaluation(batch=7),
    model=Architecture(layers=2, heads=2, dim=8, hidden=8, dropout=0.5),
)


@pytest.fixture(scope="module")
def stack():
    """A random model on a task whose answers do not all count, and its accuracies."""
    model = random_model(STACK)
    parameters = eqx.filter(model, eqx.is_array)
    return model, parameters, list(Evaluator(STACK).test(parameters, [1, 2, 4, 6]))


def test_accuracy_counts_answers_up_to_the_terminator(stack):
    model, _, (*_, point, _) = stack
    batch, tokens, positions = batch_of(STACK, point.length)
    answers = np.asarray(batch.outputs)
    said = np.asarray(eqx.filter_jit(model)(tokens, positions))[:, -answers.shape[1] :].argmax(-1)
    right = total = whole = 0
    for mine, wanted in zip(said, answers, strict=True):
        ends = wanted.tolist().index(2) + 1
        right += sum(mine[:ends] == wanted[:ends])
        total += ends
        whole += all(mine[:ends] == wanted[:ends])
    assert point.length == 4
    assert point.accuracy == pytest.approx(right / total)
    assert point.whole == pytest.approx(whole / STACK.evaluation.batch)


def test_answers_are_constant_where_no_two_examples_differ_in_a_counted_place(stack):
    model, _, points = stack
    expected = []
    for point in points:
        batch, tokens, positions = batch_of(STACK, point.length)
        counts = np.asarray(batch.counted)
        said = np.asarray(eqx.filter_jit(model)(tokens, positions))[:, -counts.shape[1] :].argmax(
            -1
        )
        places = [set(said[counts[:, place], place]) for place in range(counts.shape[1])]
        expected.append(all(len(place) <= 1 for place in places))
    assert [point.constant for point in points] == expected
    assert False in expected


def test_an_example_with_a_draw_of_its_own_tells_nothing_about_constant_answers():
    experiment = dataclasses.replace(STACK, evaluation=Evaluation(batch=3, draws=3))
    (point,) = Evaluator(experiment).test(constant(experiment, 1), [2])
    assert point.constant is None


def test_constant_answers_may_differ_between_draws_but_not_between_parts():
    one, two = (Counts(1, 2, 0, None, np.array([c]), np.array([c])) for c in (0, 1))
    assert summarize(1, [one, two], examples=4).constant
    assert join_parts([one, one]) == one._replace(right=2, counted=4)
    assert summarize(1, [join_parts([one, two])], examples=4).constant is False


def test_every_draw_has_positions_and_examples_of_its_own():
    experiment = dataclasses.replace(STACK, evaluation=Evaluation(batch=7, draws=3))
    model = random_model(experiment)
    (point,) = Evaluator(experiment).test(eqx.filter(model, eqx.is_array), [4])
    shares, right, counted = [], 0, 0
    for draw, examples in enumerate((3, 2, 2)):
        batch, tokens, positions = batch_of(experiment, 4, draw, examples)
        answers, counts = np.asarray(batch.outputs), np.asarray(batch.counted)
        said = np.asarray(eqx.filter_jit(model)(tokens, positions))[:, -answers.shape[1] :].argmax(
            -1
        )
        hits = ((said == answers) & counts).sum()
        shares.append((hits, counts.sum()))
        right, counted = right + hits, counted + counts.sum()
    assert point.accuracy == pytest.approx(right / counted)
    squares = sum((hits - right / counted * total) ** 2 for hits, total in shares)
    assert point.error == pytest.approx(np.sqrt(squares * 3 / 2) / counted)


def test_the_standard_error_is_that_of_independent_draws():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(2000):
        shares = rng.beta(4, 2, size=8)  # each draw has an accuracy of its own
        draws = [Counts(int(rng.binomial(50, p)), 50, 0) for p in shares]
        found.append(summarize(1, draws, 400))
    spread = np.std([point.accuracy for point in found])
    errors = np.array([point.error for point in found])
    assert np.sqrt((errors**2).mean()) == pytest.approx(spread, rel=0.05)


def test_draws_follow_the_stride_unless_they_are_given():
    assert Evaluation().draw_count == 1
    assert Evaluation(stride=10, batch=128).draw_count == 4
    assert Evaluation(stride=10, batch=16).draw_count == 1
    assert Evaluation(draws=5).draw_count == 5
    for draws in (-1, 17):
        with pytest.raises(UserError, match=rf"evaluation.draws={draws} must lie between 0 and"):
            Evaluation(batch=16, draws=draws)


def test_in_pieces_the_accuracy_is_the_same(stack, monkeypatch):
    # Pieces of 2 of 7 examples: the eighth must not count.
    _, parameters, whole = stack
    monkeypatch.setattr(evaluation, "CACHED_LOGIT_BYTES", 2 * 4 * 2 * 13**2)
    assert memory_pieces(STACK, 6) == 4
    assert list(Evaluator(STACK).test(parameters, [1, 2, 4, 6])) == whole


def test_a_whole_answer_is_never_right_more_often_than_its_tokens_on_average():
    # With one answer per example the two are the same; with as many for each, whole is smaller.
    experiment = tiny(lengths=SIX, evaluation=Evaluation(batch=64))
    parameters = eqx.filter(random_model(experiment), eqx.is_array)
    found = list(Evaluator(experiment).test(parameters, range(1, 7)))
    assert found[0].whole == found[0].accuracy
    assert all(point.whole <= point.accuracy for point in found)


def test_lengths_are_padded_to_the_smallest_size_that_fits(monkeypatch):
    """Here every program answers with its size, as if so many of 12 tokens were right."""
    monkeypatch.setattr(evaluation, "sizes", lambda *_: [4, 8, 12])
    monkeypatch.setattr(
        evaluation, "count", lambda _, size, *rest, parts: Counts(jnp.int32(size), 12, 1)
    )
    found = Evaluator(tiny(test_length=12)).test(None, range(1, 13))
    assert [12 * point.accuracy for point in found] == [4] * 4 + [8] * 4 + [12] * 4


def test_a_table_of_learned_positions_ends_at_m_and_formulas_do_not():
    with pytest.raises(UserError, match="learned has parameters for positions up to M only"):
        lengths_to_test(tiny(encoding="learned"), 7)
    assert lengths_to_test(tiny(encoding="rope"), 7)[-2:] == [6, 7]
    assert sizes(tiny(), 16) == [*sizes(tiny()), 9, 13, 16]  # at most L = 32 tokens

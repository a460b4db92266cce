"""Each task, at every length, against an oracle that reads the tokens."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos.tasks import PAPER_TASKS, TASKS
from tests.oracles.tasks import MASKED, ORACLES
from tests.tasks.samplers import BATCH, FEW, LONG, SHORT, sampler

WORKED = [
    ("even_pairs", "001110", "0"),
    ("even_pairs", "0101001", "1"),
    ("modular_arithmetic_simple", "1+2*3", "2"),
    ("stack_manipulation", "0110₁--", "110.0000"),
    ("missing_duplicate", "01100_10", "1"),
    ("odds_first", "00110101", "01000111"),
    ("binary_addition", "001+01101", "01011.0000"),
    ("binary_multiplication", "1001*000001", "000001001.0"),
    ("compute_sqrt", "100101", "110"),
]


def check(name: str, length: int, maximum: int) -> None:
    """Compares a batch with the oracle: inputs, outputs, what counts, and zeros after the end."""
    task = TASKS[name]
    places, size = task.input_length(length), task.output_length(length)
    inputs, outputs, counted = sampler(name, maximum)(jax.random.key(7), length)
    batch = BATCH if maximum == SHORT else FEW
    assert inputs.shape == (batch, task.input_length(maximum))
    assert outputs.shape == counted.shape == (batch, task.output_length(maximum))
    assert not inputs[:, places:].any()
    assert not outputs[:, size:].any()
    expected = np.zeros_like(outputs)
    expected_counted = np.zeros_like(counted)
    for row, tokens in enumerate(inputs[:, :places].tolist()):
        answer = ORACLES[name](tokens, length)
        assert len(answer) == size
        expected[row, :size] = answer
        end = answer.index(task.terminator or 0) + 1 if name in MASKED else size
        expected_counted[row, :end] = True
    np.testing.assert_array_equal(outputs, expected)
    np.testing.assert_array_equal(counted, expected_counted)


LENGTHS = (*range(1, 21), 27, 32, 40, 41, 58, SHORT - 1, SHORT)
"""All short lengths, at which tasks differ most, and longer ones of every remainder by 2 to 5."""


@pytest.mark.parametrize("name", TASKS)
def test_short_lengths_agree_with_the_oracle(name):
    for length in LENGTHS:
        check(name, length, SHORT)


@pytest.mark.parametrize("name", TASKS)
def test_long_lengths_agree_with_the_oracle(name):
    for length in (100, 250, 500, 1000):
        check(name, length, LONG)


@pytest.mark.parametrize(("name", "inputs", "outputs"), WORKED)
def test_the_oracle_agrees_with_the_worked_examples(name, inputs, outputs):
    task = TASKS[name]
    tokens = [task.symbols.index(symbol) for symbol in inputs]
    answer = ORACLES[name](tokens, len(tokens))
    assert "".join(task.output_symbols[token] for token in answer) == outputs


@pytest.mark.parametrize("name", TASKS)
def test_the_facts_of_a_task_hold_for_its_batches(name):
    task = TASKS[name]
    batches = [sampler(name, SHORT)(jax.random.key(3), length) for length in LENGTHS]
    seen = {int(token) for batch in batches for token in np.unique(batch.inputs)}
    classes = {int(token) for batch in batches for token in np.unique(batch.outputs)}
    assert seen == set(range(task.tokens))
    assert classes == set(range(task.classes))
    assert all(batch.inputs.dtype == batch.outputs.dtype == jnp.int32 for batch in batches)
    if name in PAPER_TASKS:
        unordered = {"parity_check", "cycle_navigation", "bucket_sort"}
        assert task.permutation_invariant == (name in unordered)


@pytest.mark.parametrize("name", [name for name in TASKS if TASKS[name].permutation_invariant])
def test_permutation_invariant_tasks_ignore_the_order(name):
    inputs, outputs, _ = sampler(name, SHORT)(jax.random.key(5), 30)
    for tokens, answer in zip(inputs[:, :30], outputs, strict=True):
        shuffled = np.random.default_rng(0).permutation(tokens).tolist()
        assert ORACLES[name](shuffled, 30) == answer[: TASKS[name].output_length(30)].tolist()


def test_every_task_has_an_oracle():
    assert set(TASKS) == set(ORACLES)

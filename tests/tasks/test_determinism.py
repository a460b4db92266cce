"""A batch is a function of its key alone: not of the padding, the compiler or the batching."""

import jax
import numpy as np
import pytest

from randpos.errors import UserError
from randpos.tasks import TASKS
from randpos.tasks.draws import words
from tests.tasks.samplers import BATCH, FEW, LONG, SHORT, sampler

KEY = jax.random.key(11)


@pytest.mark.parametrize("name", TASKS)
def test_the_maximum_changes_nothing(name):
    for length in (1, 2, 3, 31, 64):
        short, long = (sampler(name, maximum)(KEY, length) for maximum in (SHORT, LONG))
        for first, other in zip(short, long, strict=True):
            np.testing.assert_array_equal(first[:FEW], other[:, : first.shape[1]])
            assert not other[:, first.shape[1] :].any()


@pytest.mark.parametrize("name", TASKS)
def test_one_example_of_a_fixed_length_is_that_of_the_batch(name):
    task, length, row = TASKS[name], 13, 5
    key = jax.random.fold_in(KEY, row)
    first = jax.jit(lambda key: task.example(key, length, length))(
        key
    )  # neither traced nor vmapped
    batch = sampler(name, SHORT)(KEY, length)
    np.testing.assert_array_equal(first.inputs, batch.inputs[row, : task.input_length(length)])
    np.testing.assert_array_equal(first.outputs, batch.outputs[row, : task.output_length(length)])


@pytest.mark.parametrize("name", ["modular_arithmetic", "compute_sqrt"])
def test_keys_and_lengths_may_be_vmapped(name):
    task, lengths = TASKS[name], np.array([1, 4, 9, 40])
    keys = jax.random.split(KEY, len(lengths))
    sample = jax.vmap(lambda key, length: task.sample(key, length, 3, SHORT))
    batches = jax.jit(sample)(keys, lengths)
    for index, length in enumerate(lengths):
        alone = sampler(name, SHORT)(keys[index], int(length))
        for first, other in zip(batches, alone, strict=True):
            np.testing.assert_array_equal(first[index], other[:3])


@pytest.mark.parametrize("name", ["reverse_string", "binary_addition"])
def test_a_batch_may_be_computed_in_pieces(name):
    whole = sampler(name, SHORT)(KEY, 20)
    piece = jax.jit(lambda: TASKS[name].sample(KEY, 20, 10, SHORT, start=100))()
    for first, other in zip(piece, whole, strict=True):
        np.testing.assert_array_equal(first, other[100:110])


@pytest.mark.parametrize("name", [name for name in TASKS if name != "scan"])  # 128 at this length
def test_keys_and_rows_differ(name):
    batch, other = (sampler(name, SHORT)(key, SHORT).inputs for key in jax.random.split(KEY))
    assert len({row.tobytes() for row in np.concatenate([batch, other])}) == 2 * BATCH


@pytest.mark.parametrize("count", [1, 33, 999])
def test_words_continue_shorter_draws(count):
    long = words(KEY, 1000)
    np.testing.assert_array_equal(words(KEY, count), long[:count])
    keys = jax.random.split(KEY, 4)
    in_batch = jax.jit(jax.vmap(lambda key: words(key, count)))(keys)
    np.testing.assert_array_equal(in_batch[2], words(keys[2], 1000)[:count])


@pytest.mark.parametrize("length", [0, 9])
def test_a_length_out_of_range_is_a_sentence(length):
    with pytest.raises(UserError, match=rf"Length {length} of reverse_string .* 1\.\.8\."):
        TASKS["reverse_string"].sample(KEY, length, 2, 8)

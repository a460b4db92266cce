"""From a batch to token sequences, against the definition in plain Python."""

import jax.numpy as jnp
import numpy as np
import pytest

from randpos import TASKS, Batch, get_task
from randpos.tasks.base import total_length, vocabulary
from randpos.training.batch import assemble

BATCH, LARGEST = 2, 6


@pytest.mark.parametrize("name", TASKS)
def test_placeholders_follow_the_input_and_padding_follows_them(name):
    task = get_task(name)
    sizes = int(task.input_length(LARGEST)), int(task.output_length(LARGEST))
    rng = np.random.default_rng(0)
    given, answer = (jnp.asarray(rng.integers(0, task.tokens, (BATCH, size))) for size in sizes)
    batch = Batch(given, answer, answer > 0)
    for length in (1, 2, 5, 6):
        made = assemble(task, batch, jnp.asarray(length))
        inputs, answers = int(task.input_length(length)), int(task.output_length(length))
        real = inputs + answers
        for row, before in zip(np.asarray(made.tokens), np.asarray(given), strict=True):
            tokens = [*before[:inputs], *[task.tokens] * answers]
            assert row.tolist() == tokens + [task.tokens + 1] * (sum(sizes) - real)
        assert np.asarray(made.mask).tolist() == [[i < real for i in range(sum(sizes))]]
        assert int(made.length) == real == total_length(task, length)
        assert (int(made.outputs[0]), made.outputs[1]) == (inputs, sizes[1])


@pytest.mark.parametrize("name", TASKS)
def test_a_model_knows_two_tokens_more_than_the_task(name):
    assert vocabulary(get_task(name)) == get_task(name).tokens + 2

"""From a batch to token sequences, against the definition in plain Python."""

import jax.numpy as jnp
import numpy as np
import pytest

from randpos import TASKS, Batch, get_task
from randpos.tasks.base import total_length, vocabulary
from randpos.tasks.layout import Layout
from randpos.training.batch import assemble

BATCH, LARGEST = 2, 6


@pytest.mark.parametrize("name", TASKS)
def test_placeholders_follow_the_input_and_padding_follows_them(name):
    task, layout = get_task(name), Layout(get_task(name))
    sizes = int(task.input_length(LARGEST)), int(task.output_length(LARGEST))
    rng = np.random.default_rng(0)
    given, answer = (jnp.asarray(rng.integers(0, task.tokens, (BATCH, size))) for size in sizes)
    batch = Batch(given, answer, answer > 0)
    for length in (1, 2, 5, 6):
        made = assemble(layout, batch, jnp.asarray(length))
        inputs, answers = int(task.input_length(length)), int(task.output_length(length))
        real = inputs + answers
        for row, before in zip(np.asarray(made.tokens), np.asarray(given), strict=True):
            tokens = [*before[:inputs], *[task.tokens] * answers]
            assert row.tolist() == tokens + [task.tokens + 1] * (sum(sizes) - real)
        assert np.asarray(made.mask).tolist() == [[i < real for i in range(sum(sizes))]]
        assert int(made.length) == real == total_length(task, length)
        assert (int(made.outputs[0]), made.outputs[1]) == (inputs, sizes[1])


@pytest.mark.parametrize("thinking", [0, 2])
@pytest.mark.parametrize("answers", ["parallel", "autoregressive"])
@pytest.mark.parametrize("name", ["binary_addition", "cycle_navigation"])
def test_a_decoder_reads_its_answers_one_token_late(name, answers, thinking):
    """Spelled as text: `=` is the placeholder or separator, `~` padding, `#` a blank."""
    task = get_task(name)
    layout = Layout(task, answers, thinking)
    sizes = int(task.input_length(LARGEST)), int(task.output_length(LARGEST))
    rng = np.random.default_rng(0)
    given = rng.integers(0, task.tokens, (BATCH, sizes[0]))
    answer = rng.integers(0, task.classes, (BATCH, sizes[1]))
    batch = Batch(jnp.asarray(given), jnp.asarray(answer), jnp.asarray(answer > 0))
    spelling = [*layout.symbols, "=", "~", "#"][: layout.vocabulary]
    for length in (2, 5, 6):
        made = assemble(layout, batch, jnp.asarray(length))
        inputs, asked = int(task.input_length(length)), int(task.output_length(length))
        prompt, whole = "", ""
        for row, x, y in zip(np.asarray(made.tokens), given, answer, strict=True):
            prompt = "".join(task.symbols[i] for i in x[:inputs]) + "#" * (thinking * inputs)
            written = "".join(task.output_symbols[i] for i in y[: asked - 1])
            tail = "=" + written if answers == "autoregressive" else "=" * asked
            whole = prompt + tail
            assert len(whole) == layout.total_length(length)
            text = "".join(spelling[i] for i in row)
            assert text == whole.ljust(int(layout.total_length(LARGEST)), "~")
        assert int(made.outputs[0]) == len(prompt)
        assert int(made.mask.sum()) == int(made.length) == len(whole)


@pytest.mark.parametrize("name", TASKS)
def test_a_model_knows_two_tokens_more_than_the_task(name):
    assert vocabulary(get_task(name)) == get_task(name).tokens + 2

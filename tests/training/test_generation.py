"""A decoder's answers with a cache, against a loop that reads the whole prefix for every token."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos import Architecture, Encoder, Experiment, PositionOptions, Schedule, resolve
from randpos.settings import Draw
from randpos.setup import Setup
from randpos.tasks.base import Batch
from randpos.training.batch import Sequences, assemble, draw_batch
from randpos.training.evaluation import Evaluator
from randpos.training.generation import generate, right_generated
from randpos.training.tested_lengths import sizes
from tests.cases import ALIKE, without
from tests.experiments import random_model, tiny
from tests.small import VARIANTS, Variant
from tests.training.test_evaluation import batch_of

LENGTH, SIZE, EXAMPLES = 3, 5, 3
"""The buffer of prompts holds the separator and a right answer too, which must not be read."""
MODEL = Architecture(layers=2, heads=2, dim=8, hidden=12)


def decoder(variant: Variant, **changes: Any) -> Experiment:
    """An experiment of a decoder that manipulates a stack: |y| = n + 1, with a terminator."""
    options = PositionOptions(64, variant.reading, variant.draw)
    return tiny(
        task="stack_manipulation",
        encoding=variant.combination.name,
        answers="autoregressive",
        positions=options,
        **{"model": MODEL, **changes},
    )


def drawn(setup: Setup) -> tuple[Batch, Any, Sequences]:
    """A batch shorter than its buffers."""
    one, other = jax.random.split(jax.random.key(5))
    batch, positions = draw_batch(setup, one, other, jnp.asarray(LENGTH), EXAMPLES, SIZE)
    return batch, positions, assemble(setup.layout, batch, jnp.asarray(LENGTH))


@eqx.filter_jit
def cached(model: Encoder, setup: Setup, prompt: Any, positions: Any, outputs: int) -> Any:
    return generate(model, setup.layout, prompt, positions, jnp.asarray(LENGTH), outputs)


@eqx.filter_jit
def at_once(model: Encoder, tokens: Any, positions: Any, mask: Any) -> Any:
    return model(tokens, positions, mask=mask)


def recomputed(model: Encoder, setup: Setup, sequences: Sequences, positions: Any) -> np.ndarray:
    """The logits of greedy answers; every token is the result of a whole pass over its prefix."""
    layout = setup.layout
    first, answers = layout.prompt_length(LENGTH), layout.task.output_length(LENGTH)
    tokens = np.array(sequences.tokens)
    tokens[:, first] = layout.placeholder
    tokens[:, first + 1 :] = layout.padding
    rows = []
    for place in range(first, first + answers):
        mask = jnp.arange(tokens.shape[1])[None] <= place
        rows.append(np.asarray(at_once(model, jnp.asarray(tokens), positions, mask))[:, place])
        if place + 1 < tokens.shape[1]:
            tokens[:, place + 1] = layout.answer_tokens[rows[-1].argmax(axis=-1)]
    return np.stack(rows, axis=1)


def compare(experiment: Experiment) -> np.ndarray:
    setup, model = resolve(experiment), random_model(experiment)
    batch, positions, sequences = drawn(setup)
    prompt = sequences.tokens[:, : int(setup.layout.prompt_length(SIZE))]
    found = cached(model, setup, prompt, positions, batch.outputs.shape[1])
    expected = recomputed(model, setup, sequences, positions)
    answers = expected.shape[1]
    np.testing.assert_allclose(found[:, :answers], expected, rtol=0, atol=1e-4)
    assert not np.asarray(found[:, answers:]).any()
    return expected


def some(draw: Draw) -> list[Variant]:
    """Every encoding and reading with randomized positions, and unsorted ones once."""
    kept = ("none", "relative", "unsorted-relative")
    return [
        variant
        for variant in VARIANTS
        if variant.draw == draw
        and (variant.combination.prefix == "randomized" or variant.combination.name in kept)
    ]


SLOW = [
    str(variant)
    for variant in some("per_batch")
    if variant.name in (*ALIKE, "geometric", "fire") and variant.name != "none"
]
"""The last two are tried with thinking tokens and windows below."""


@pytest.mark.parametrize("variant", without(SLOW, some("per_batch")), ids=str)
def test_a_cache_changes_no_answer(variant: Variant):
    logits = compare(decoder(variant))
    assert np.ptp(logits, axis=1).max() > 1e-2  # tokens differ, so that a wrong place would show


def variant_of(encoding: str, reading: str = "positions") -> Variant:
    return next(
        v
        for v in VARIANTS
        if (v.combination.name, v.reading) == (f"randomized-{encoding}", reading)
    )


DRAWN = [("relative", "positions"), ("relative", "distances"), ("rope", "positions")]


@pytest.mark.parametrize(("encoding", "reading"), [*DRAWN, ("alibi", "distances")])
def test_a_cache_serves_draws_per_layer(encoding: str, reading: str):
    compare(decoder(variant_of(encoding, reading)._replace(draw="per_layer")))


@pytest.mark.parametrize(("encoding", "reading"), [*DRAWN, ("sincos", "positions")])
def test_a_cache_serves_draws_per_example(encoding: str, reading: str):
    compare(decoder(variant_of(encoding, reading)._replace(draw="per_example")))


@pytest.mark.parametrize(
    ("encoding", "thinking", "changes"),
    [
        ("fire", 2, {}),
        ("fire", 0, {"window": 3}),
        ("geometric", 1, {"window": 2}),
        ("rope", 1, {"attention_scale": "log"}),
        ("relative", 0, {"attention_scale": "log", "window": 3}),
    ],
)
def test_a_cache_serves_thinking_windows_and_scales(
    encoding: str, thinking: int, changes: dict[str, Any]
):
    model = dataclasses.replace(MODEL, **changes)
    compare(decoder(variant_of(encoding), thinking=thinking, model=model))


def test_nothing_is_right_after_a_generated_terminator():
    logits = jax.nn.one_hot(jnp.array([[0, 2, 0, 1], [0, 1, 2, 0]]), 3)
    outputs = jnp.array([[0, 1, 0, 2], [0, 1, 2, 0]])
    counted = jnp.array([[True] * 4, [True, True, True, False]])
    right = right_generated(logits, Batch(outputs, outputs, counted), terminator=2)
    assert right.tolist() == [[True, False, False, False], [True, True, True, False]]
    right = right_generated(logits, Batch(outputs, outputs, counted), terminator=None)
    assert right.tolist() == [[True, False, True, False], [True, True, True, False]]


def test_a_test_generates_and_reports_teacher_forcing_beside_it():
    """Counted by hand from the answers of the slow reference, and from one pass with the truth."""
    experiment = tiny(
        answers="autoregressive",
        encoding="randomized-rope",
        model=MODEL,
        lengths=Schedule("fixed", 6),
    )
    assert sizes(experiment) == [6]
    evaluator, tokens_of = Evaluator(experiment), resolve(experiment).layout.answer_tokens
    batch, tokens, positions = batch_of(experiment, 6)
    outputs, differ = np.asarray(batch.outputs), False
    for seed in range(4):
        model = random_model(experiment, seed)
        (found,) = evaluator.test(eqx.filter(model, eqx.is_array), [6])
        every = jnp.ones((1, 12), bool)
        forced = np.asarray(at_once(model, tokens, positions, every))[:, 6:].argmax(-1) == outputs
        read, chosen = np.array(tokens), []
        for place in range(6, 12):
            logits = at_once(model, jnp.asarray(read), positions, jnp.arange(12)[None] <= place)
            chosen.append(np.asarray(logits)[:, place].argmax(-1))
            read[:, place + 1 : place + 2] = tokens_of[chosen[-1]][:, None]
        right = np.stack(chosen, axis=1) == outputs
        assert found.accuracy == pytest.approx(right.mean())
        assert found.whole == pytest.approx(right.all(axis=1).mean())
        assert found.forced == pytest.approx(forced.mean())
        differ |= found.forced != found.accuracy
    assert differ

"""Generation: a decoder answers greedily, token by token, and reads its own answers."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from randpos.nn.cache import LayerPositions, decode, prefill
from randpos.nn.model import Encoder
from randpos.nn.pieces import split
from randpos.positions import Length, per_example
from randpos.tasks.base import Batch
from randpos.tasks.layout import Layout
from randpos.training.batch import right_answers


def generate(
    model: Encoder,
    layout: Layout,
    prompt: Int[Array, "batch prompt"],
    positions: LayerPositions,
    length: Length,
    outputs: int,
) -> Float[Array, "batch output classes"]:
    """Returns the logits of the answer tokens, each after the most likely ones before it.

    Args:
        model: A decoder.
        layout: The layout of its sequences.
        prompt: The tokens before the separator, padded.
        positions: Those of prompt and answer, one draw.
        length: The length n of the examples.
        outputs: The number of answer tokens that there is room for; those beyond |y| have logits 0.
    """
    if per_example(positions):
        return jax.vmap(
            lambda row, where: generate(model, layout, row[None], where, length, outputs)[0]
        )(prompt, positions)
    first = layout.prompt_length(length)
    tokens_of = jnp.asarray(layout.answer_tokens)
    begin = jnp.full(len(prompt), layout.placeholder, prompt.dtype)
    logits = jnp.zeros((len(prompt), outputs, layout.task.classes))
    cache = prefill(model, prompt, positions, prompt.shape[1] + outputs)

    def body(i, carry):
        tokens, cache, logits = carry
        found, cache = decode(model, tokens, first + i, positions, cache)
        logits = jax.lax.dynamic_update_slice(logits, found[:, None], (0, i, 0))
        return tokens_of[jnp.argmax(found, axis=-1)], cache, logits

    answers = layout.task.output_length(length)
    return jax.lax.fori_loop(0, answers, body, (begin, cache, logits))[2]


def generate_in_pieces(
    model: Encoder,
    layout: Layout,
    prompts: Int[Array, "batch prompt"],
    positions: LayerPositions,
    length: Length,
    pieces: int,
) -> Float[Array, "batch output classes"]:
    """Returns what `generate` does, one piece of the batch after the other.

    There is room for all answers that positions leave after the prompts.
    """
    own = split(positions, pieces) if per_example(positions) else None
    room = jax.tree.leaves(positions)[0].shape[-1] - prompts.shape[1]

    def answer(piece):
        prompt, where = piece
        return generate(model, layout, prompt, positions if own is None else where, length, room)

    logits = jax.lax.map(answer, (split(prompts, pieces), own))
    return logits.reshape(len(prompts), room, -1)


def right_generated(
    logits: Float[Array, "batch output classes"], batch: Batch, terminator: int | None
) -> Bool[Array, "batch output"]:
    """Marks the counted output tokens that are right; none is after a generated terminator."""
    right = right_answers(logits, batch)
    if terminator is None:
        return right
    ends = jnp.argmax(logits, axis=-1) == terminator
    return right & (jnp.cumsum(ends, axis=-1) - ends == 0)

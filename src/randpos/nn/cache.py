"""Decoding with a cache: the keys and values of earlier tokens are computed once.

A causal model gives a token the same activations whatever follows it. So a prompt is read in one
pass (`prefill`), and each further token costs one row of attention (`decode`). An encoding's
`transform`, such as the rotation of RoPE, is applied once to each key, before it is stored.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from randpos.nn.attention import softmax_attention
from randpos.nn.model import Encoder
from randpos.positions import Length, Positions, cut_positions

LayerPositions = Positions | tuple[Positions, ...]


class Cache(NamedTuple):
    """Keys and values of the tokens so far, by layer, in buffers for a whole sequence."""

    keys: tuple[Float[Array, "batch head time head_dim"], ...]
    """As `Encoding.transform` returned them, unless the encoding replaces the attention."""
    values: tuple[Float[Array, "batch head time head_dim"], ...]


def prefill(
    model: Encoder, tokens: Int[Array, "batch prompt"], positions: LayerPositions, size: int
) -> Cache:
    """Reads a prompt.

    Args:
        model: A causal model.
        tokens: The prompt. Tokens after its end do no harm if `decode` writes over their places.
        positions: Those of the whole sequence.
        size: The number of tokens that the cache has room for.
    """
    positions = cut_positions(positions, tokens.shape[1])
    room = ((0, 0), (0, 0), (0, size - tokens.shape[1]), (0, 0))
    x, encoding = model.embed(tokens, positions, None), model.encoding
    keys, values = [], []
    for layer, view in enumerate(model.view(positions)):
        q, k, v = model.blocks[layer].heads(x, x)
        kept = k if encoding.replaces_attention() else encoding.transform(q, k, view, layer)[1]
        keys.append(jnp.pad(kept, room))
        values.append(jnp.pad(v, room))
        if layer < model.architecture.layers - 1:  # nothing is read from the last layer
            attended = encoding.attend(x, q, k, v, view, layer)
            x = model.blocks[layer].finish(x, attended)
    return Cache(tuple(keys), tuple(values))


def decode(
    model: Encoder,
    tokens: Int[Array, " batch"],
    place: Length,
    positions: LayerPositions,
    cache: Cache,
) -> tuple[Float[Array, "batch classes"], Cache]:
    """Reads one more token, and returns its logits and the cache with it.

    Args:
        model: A causal model.
        tokens: The token of every sequence.
        place: Its place in the sequence; all places before it are in the cache.
        positions: Those of the whole sequence.
        cache: The tokens before it.
    """
    encoding, at = model.encoding, (0, 0, place, 0)
    row, alone = (
        jax.tree.map(see, positions, is_leaf=lambda node: isinstance(node, Positions))
        for see in (lambda whole: whole.rows(place, 1), lambda whole: whole.part(place, 1))
    )
    x = model.embed(tokens[:, None], row, None)
    keys, values = list(cache.keys), list(cache.values)
    views = zip(model.view(row, start=place), model.view(alone), strict=True)
    for layer, (view, view_of_token) in enumerate(views):
        q, k, v = model.blocks[layer].heads(x, x)
        values[layer] = jax.lax.dynamic_update_slice(values[layer], v, at)
        if encoding.replaces_attention():
            keys[layer] = jax.lax.dynamic_update_slice(keys[layer], k, at)
            attended = encoding.attend(x, q, keys[layer], values[layer], view, layer)
        else:
            bias = encoding.bias(q, view, layer)
            q, k = encoding.transform(q, k, view_of_token, layer)
            keys[layer] = jax.lax.dynamic_update_slice(keys[layer], k, at)
            attended = softmax_attention(q, keys[layer], values[layer], bias, view.mask, view.scale)
        x = model.blocks[layer].finish(x, attended)
    return model.head(x)[:, 0], Cache(tuple(keys), tuple(values))

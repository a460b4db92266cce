"""A batch in equal pieces, computed one after the other to bound the memory."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from randpos.nn.views import Outputs, common_view, layer_positions, layer_view, selected_shape
from randpos.positions import Positions, per_example

if TYPE_CHECKING:
    from randpos.nn.model import Encoder

Tree = TypeVar("Tree")


def split(batch: Tree, pieces: int) -> Tree:
    """Cuts every array of a tree into `pieces` along its first axis."""
    return jax.tree.map(lambda x: x.reshape(pieces, -1, *x.shape[1:]), batch)


def _stack(trees: Sequence[Any]) -> Any:
    """Stacks trees of one structure along a new leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def logits_in_pieces(
    model: "Encoder",
    tokens: Int[Array, "batch time"],
    positions: Positions | Sequence[Positions],
    mask: Bool[Array, "#batch time"] | None,
    outputs: Outputs | None,
    key: Key[Array, ""] | None,
    pieces: int,
) -> Float[Array, "batch output classes"]:
    """Computes a call of the model in pieces; the arguments are those of `Encoder.__call__`.

    Each block takes all pieces before the next block starts, so that what a layer adds to its view
    is in memory for one layer at a time.
    """
    encoding, architecture = model.encoding, model.architecture
    draws = layer_positions(positions, architecture)
    keys, to_embedding = model.dropout_keys(key)
    by_example, common = per_example(positions), isinstance(positions, Positions)
    seen = None
    if common and not by_example:
        seen = common_view(encoding, architecture, draws[0], mask, None)
    firsts = len(tokens) // pieces * jnp.arange(pieces)

    def apply(layer, block, where, seen, outputs, keys, x):
        """Applies one block; what it adds to its view, up to 0.5 GiB, is prepared only now."""

        def see(where):
            view = seen or common_view(encoding, architecture, where, mask, outputs)
            return layer_view(encoding, view, layer)

        def piece(data):
            x, first, where = data
            view = jax.vmap(see)(where) if shared is None else shared
            kept = model.dropout_masks(keys, selected_shape(x, outputs), first)
            return model.apply_block(layer, block, view, outputs, kept, x)

        shared = None if by_example else see(where)
        cut = (split(x, pieces), firsts, split(where, pieces) if by_example else None)
        x = jax.lax.map(piece, cut)
        return x.reshape(-1, *x.shape[2:])

    def step(x, this):
        layer, block, where, keys = this
        return apply(layer, block, positions if common else where, seen, None, keys, x), None

    # A loop over the equal blocks is compiled once. The last one, which answers, stays apart.
    *equal, last = model.blocks
    x = model.embed(tokens, positions, to_embedding)
    if equal:
        where = None if common else _stack(draws[:-1])
        pairs = None if keys is None else keys[:-1]
        x, _ = jax.lax.scan(step, x, (jnp.arange(len(equal)), _stack(equal), where, pairs))
    pair = None if keys is None else keys[-1]
    return model.head(apply(len(equal), last, draws[-1], None, outputs, pair, x))

"""The encoder-only, post-norm Transformer of the paper (appendix A).

It calls the interface of an encoding and never asks which encoding it is.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from randpos.encodings import Encoding
from randpos.encodings.base import LayerNumber, Mask, View
from randpos.errors import UserError
from randpos.nn.attention import log_visible
from randpos.nn.block import Block
from randpos.nn.dropout import dropout, keep_mask
from randpos.nn.layers import Linear, truncated_normal
from randpos.nn.pieces import split
from randpos.positions import Length, Positions, per_example
from randpos.settings import Architecture


class Trace(NamedTuple):
    """The intermediate values of a call, layer by layer."""

    embeddings: Float[Array, "batch time dim"]
    activations: tuple[Float[Array, "batch time dim"], ...]
    attention: tuple[Float[Array, "batch head time time"], ...]
    logits: Float[Array, "batch time classes"]


def _inside(outputs: tuple[Length, int] | None, time: int) -> tuple[Length, int] | None:
    """Checks that selected tokens lie inside the sequence: `dynamic_slice` clamps silently."""
    if outputs is None:
        return None
    start, size = outputs
    if isinstance(start, int) and not 0 <= start <= time - size:
        raise UserError(f"outputs={outputs} reach beyond the {time} tokens of the sequence.")
    return jnp.clip(start, 0, time - size), size


def _selected(
    x: Float[Array, "batch time dim"], outputs: tuple[Length, int] | None
) -> tuple[int, int, int]:
    """Returns the shape of the tokens that `outputs` selects."""
    batch, time, dim = x.shape
    return batch, time if outputs is None else outputs[1], dim


def _example_by_example(function: Callable[..., Array]) -> Callable[..., Array]:
    """Maps a function of batches and of a view or positions over examples that each have theirs."""

    def apply(*arguments):
        *arrays, where = arguments
        return function(*(x[None] for x in arrays), where)[0]

    return jax.vmap(apply)


def _stack(trees: Sequence[Any]) -> Any:
    """Stacks trees of one structure along a new leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


class Encoder(eqx.Module):
    """Token embedding, an encoding, blocks and an output head.

    Args:
        vocabulary: Number of different tokens, the reserved ones included.
        classes: Number of output classes.
        encoding: The encoding, built for `architecture.shape(largest position)`.
        architecture: The sizes; by default the paper's.
        key: Source of the parameters.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from randpos import Architecture, Encoder, Randomized, get_encoding
        >>> key, sizes = jax.random.key(0), Architecture()
        >>> rope = get_encoding("rope")(sizes.shape(2048), key=key)
        >>> model = Encoder(vocabulary=4, classes=2, encoding=rope, architecture=sizes, key=key)
        >>> positions = Randomized(maximum=2048).sample(key, 10, 10)
        >>> model(jnp.zeros((3, 10), int), positions).shape
        (3, 10, 2)
    """

    embedding: Float[Array, "vocabulary dim"]
    encoding: Encoding
    blocks: tuple[Block, ...]
    head: Linear
    architecture: Architecture = eqx.field(static=True)

    def __init__(
        self,
        vocabulary: int,
        classes: int,
        encoding: Encoding,
        architecture: Architecture | None = None,
        *,
        key: Key[Array, ""],
    ) -> None:
        self.architecture = architecture = architecture or Architecture()
        shape = architecture.shape(encoding.shape.positions)
        if encoding.shape != shape._replace(one_sided=encoding.shape.one_sided):
            raise UserError(
                f"the encoding was built for {encoding.shape}, which does not fit {architecture}; "
                "build it for architecture.shape(positions)."
            )
        encoding.check_scale(architecture.attention_scale)
        to_embedding, to_head, *to_blocks = jax.random.split(key, 2 + architecture.layers)
        self.embedding = truncated_normal(to_embedding, (vocabulary, architecture.dim), 0.02)
        self.encoding = encoding
        # All blocks at once: drawing them one by one takes ten times as long to compile.
        stacked = eqx.filter_vmap(lambda k: Block(architecture, key=k))(jnp.stack(to_blocks))
        self.blocks = tuple(
            jax.tree.map(lambda x, i=i: x[i], stacked) for i in range(architecture.layers)
        )
        self.head = Linear(architecture.dim, classes, bias=True, key=to_head)

    def __call__(
        self,
        tokens: Int[Array, "batch time"],
        positions: Positions | Sequence[Positions],
        *,
        mask: Bool[Array, "#batch time"] | None = None,
        outputs: tuple[Length, int] | None = None,
        key: Key[Array, ""] | None = None,
        pieces: int = 1,
    ) -> Float[Array, "batch output classes"]:
        """Returns the logits of all tokens, or of those that `outputs` selects.

        Args:
            tokens: Token numbers.
            positions: Where they stand; a sequence gives every layer its own, and a leading axis
                every example.
            mask: Which tokens are real; by default all. The others are never attended to.
            outputs: The first token (it may be traced) and the number of tokens whose logits are
                wanted. The last block then works on those tokens only.
            key: Source of dropout; without one, as in evaluation, there is none.
            pieces: In how many equal pieces each block computes the batch, to bound the memory;
                the mask must then be the same for all sequences.
        """
        if len(tokens) % pieces or (pieces > 1 and mask is not None and len(mask) > 1):
            raise UserError(
                f"a batch of {len(tokens)} cannot be computed in pieces={pieces}: pieces must "
                "divide it, and the mask must be shared by all sequences."
            )
        outputs = _inside(outputs, tokens.shape[1])
        if pieces == 1:
            views = self.view(positions, mask=mask, outputs=outputs)
            return self.logits(tokens, positions, views, outputs=outputs, key=key)
        draws = self._per_layer(positions)
        keys, to_embedding = self._dropout_keys(key)
        own, common = per_example(positions), isinstance(positions, Positions)
        seen = self._see(draws[0], mask, None) if common and not own else None
        firsts = len(tokens) // pieces * jnp.arange(pieces)

        def apply(layer, block, where, seen, outputs, keys, x):
            """Applies one block; what it adds to its view, up to 0.5 GiB, is prepared only now."""

            def see(where):
                return self._add_layer(seen or self._see(where, mask, outputs), layer)

            def piece(data):
                x, first, where = data
                view = jax.vmap(see)(where) if shared is None else shared
                kept = self._masks(keys, _selected(x, outputs), first)
                return self._apply(layer, block, view, outputs, kept, x)

            shared = None if own else see(where)
            cut = (split(x, pieces), firsts, split(where, pieces) if own else None)
            x = jax.lax.map(piece, cut)
            return x.reshape(-1, *x.shape[2:])

        def step(x, this):
            layer, block, where, keys = this
            return apply(layer, block, positions if common else where, seen, None, keys, x), None

        # A loop over the equal blocks is compiled once. The last one, which answers, stays apart.
        *equal, last = self.blocks
        x = self.embed(tokens, positions, to_embedding)
        if equal:
            where = None if common else _stack(draws[:-1])
            pairs = None if keys is None else keys[:-1]
            x, _ = jax.lax.scan(step, x, (jnp.arange(len(equal)), _stack(equal), where, pairs))
        pair = None if keys is None else keys[-1]
        return self.head(apply(len(equal), last, draws[-1], None, outputs, pair, x))

    def _per_layer(self, positions: Positions | Sequence[Positions]) -> list[Positions]:
        """Returns the positions of each layer."""
        layers = self.architecture.layers
        found = [positions] * layers if isinstance(positions, Positions) else list(positions)
        if len(found) != layers:
            raise UserError(f"{len(found)} draws of positions do not fit {layers} layers.")
        return found

    def view(
        self,
        positions: Positions | Sequence[Positions],
        *,
        mask: Bool[Array, "#batch time"] | None = None,
        outputs: tuple[Length, int] | None = None,
        start: Length = 0,
    ) -> tuple[View, ...]:
        """Computes what each layer sees of the positions; it does not depend on the tokens.

        A batch that is computed in pieces needs it only once, unless examples have positions of
        their own. Where the positions are rows of those of a sequence, `start` is the place of the
        first row.
        """
        if per_example(positions):
            examples = len(jax.tree.leaves(positions)[0])
            rows = None if mask is None else jnp.broadcast_to(mask, (examples, mask.shape[1]))

            def see(where, row):
                mask = None if row is None else row[None]
                return self.view(where, mask=mask, outputs=outputs, start=start)

            return jax.vmap(see)(positions, rows)
        per_layer = self._per_layer(positions)
        outputs = _inside(outputs, len(per_layer[-1].key))
        views: list[View] = []
        for layer, where in enumerate(per_layer):
            asked = outputs if layer == len(per_layer) - 1 else None
            same = layer and asked is None and where is per_layer[layer - 1]
            seen = views[-1] if same else self._see(where, mask, asked, start)
            views.append(self._add_layer(seen, layer))
        return tuple(views)

    def _see(
        self,
        where: Positions,
        mask: Bool[Array, "#batch time"] | None,
        outputs: tuple[Length, int] | None,
        start: Length = 0,
    ) -> View:
        """Computes what layers see that have these positions, as far as it is common to them."""
        if outputs is not None:
            where, start = where.rows(*outputs), outputs[0]
        allowed = self.allowed(where, mask, start)
        scale = log_visible(allowed) if self.architecture.attention_scale == "log" else None
        return View(self.encoding.precompute(where, allowed), None, allowed, scale)

    def _add_layer(self, view: View, layer: LayerNumber) -> View:
        return view._replace(per_layer=self.encoding.precompute_layer(view.precomputed, layer))

    def logits(
        self,
        tokens: Int[Array, "batch time"],
        positions: Positions | Sequence[Positions],
        views: tuple[View, ...],
        *,
        outputs: tuple[Length, int] | None = None,
        key: Key[Array, ""] | None = None,
        first: Length = 0,
    ) -> Float[Array, "batch output classes"]:
        """Finishes a call from prepared views; `first` numbers the first example for dropout."""
        outputs = _inside(outputs, tokens.shape[1])
        keys, to_embedding = self._dropout_keys(key)
        x = self.embed(tokens, positions, to_embedding, first)
        *equal, last = self.blocks
        kept = None if keys is None else self._masks(keys[:-1].ravel(), x.shape, first)
        for layer, block in enumerate(equal):
            masks = None if kept is None else kept[2 * layer : 2 * layer + 2]
            x = self._apply(layer, block, views[layer], None, masks, x)
        kept = self._masks(None if keys is None else keys[-1], _selected(x, outputs), first)
        return self.head(self._apply(len(equal), last, views[-1], outputs, kept, x))

    def trace(
        self,
        tokens: Int[Array, "batch time"],
        positions: Positions | Sequence[Positions],
        *,
        mask: Bool[Array, "#batch time"] | None = None,
    ) -> Trace:
        """Runs the model without dropout and returns all intermediate values."""
        embeddings = x = self.embed(tokens, positions, None)
        activations, attention = [], []
        for layer, view in enumerate(self.view(positions, mask=mask)):
            q, k, v = self.blocks[layer].heads(x, x)
            weights = partial(self.encoding.weights, layer=layer)
            weights = _example_by_example(weights) if view.per_example else weights
            attention.append(weights(x, q, k, view))
            x = self.blocks[layer].finish(x, attention[-1] @ v)
            activations.append(x)
        return Trace(embeddings, tuple(activations), tuple(attention), self.head(x))

    def _apply(
        self,
        layer: LayerNumber,
        block: Block,
        view: View,
        outputs: tuple[Length, int] | None,
        kept: Bool[Array, "2 batch query dim"] | None,
        x: Float[Array, "batch time dim"],
    ) -> Float[Array, "batch query dim"]:
        """Applies a block, to the tokens that `outputs` selects."""
        context = x
        if outputs is not None:
            x = jax.lax.dynamic_slice_in_dim(x, *outputs, axis=1)
        q, k, v = block.heads(x, context)
        attend = partial(self.encoding.attend, layer=layer)
        attend = _example_by_example(attend) if view.per_example else attend
        attended = attend(x, q, k, v, view)
        return block.finish(x, attended, kept)

    def _dropout_keys(
        self, key: Key[Array, ""] | None
    ) -> tuple[Key[Array, "layer 2"] | None, Key[Array, ""] | None]:
        """Returns a pair of keys per block and one for the embeddings, or Nones."""
        if key is None:
            return None, None
        keys = jax.random.split(key, 2 * self.architecture.layers + 1)
        return keys[:-1].reshape(-1, 2), keys[-1]

    def _masks(
        self, keys: Key[Array, " site"] | None, shape: tuple[int, ...], first: Length
    ) -> Bool[Array, "site batch time dim"] | None:
        """Draws the masks of dropout, in a loop: else XLA copies the hash into many kernels."""
        rate = self.architecture.dropout
        if keys is None or rate == 0.0:
            return None
        return jax.lax.map(lambda key: keep_mask(key, shape, rate, first), keys)

    def embed(
        self,
        tokens: Int[Array, "batch time"],
        positions: Positions | Sequence[Positions],
        key: Key[Array, ""] | None,
        first: Length = 0,
    ) -> Float[Array, "batch time dim"]:
        """Returns the scaled embeddings of tokens, with positions where the encoding adds them."""
        where = positions if isinstance(positions, Positions) else positions[0]
        x = self.embedding[tokens] * self.architecture.dim**0.5
        if per_example(where) and len(where.query) != len(tokens):
            raise UserError(
                f"{len(where.query)} draws of positions do not fit {len(tokens)} examples."
            )
        embed = self.encoding.embed
        x = (_example_by_example(embed) if per_example(where) else embed)(x, where)
        rate = self.architecture.dropout if self.encoding.additive else 0.0
        return dropout(x, rate, key, first)

    def allowed(
        self, positions: Positions, mask: Bool[Array, "#batch time"] | None, start: Length
    ) -> Mask:
        """Returns which keys each query may attend to; the first query is token `start`."""
        queries, keys = positions.offsets.shape
        allowed = jnp.ones((1, 1, 1, keys), bool) if mask is None else mask[:, None, None, :]
        if not (self.architecture.causal or self.architecture.window):
            return allowed
        apart = start + jnp.arange(queries)[:, None] - jnp.arange(keys)
        if self.architecture.causal:
            allowed = allowed & (apart >= 0)
        if window := self.architecture.window:
            nearest = apart < window if self.architecture.causal else jnp.abs(apart) <= window // 2
            allowed = allowed & nearest
        return allowed

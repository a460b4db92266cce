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
from randpos.encodings.base import Mask, View
from randpos.errors import UserError
from randpos.nn.attention import log_visible
from randpos.nn.dropout import dropout
from randpos.nn.layers import LayerNorm, Linear, truncated_normal
from randpos.positions import Length, Positions, per_example
from randpos.settings import Architecture


class Trace(NamedTuple):
    """The intermediate values of a call, layer by layer."""

    embeddings: Float[Array, "batch time dim"]
    activations: tuple[Float[Array, "batch time dim"], ...]
    attention: tuple[Float[Array, "batch head time time"], ...]
    logits: Float[Array, "batch time classes"]


class Block(eqx.Module):
    """Attention and feed-forward, each with dropout, a residual connection and a LayerNorm."""

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    attention_norm: LayerNorm
    expand: Linear
    contract: Linear
    feed_forward_norm: LayerNorm
    architecture: Architecture = eqx.field(static=True)

    def __init__(self, architecture: Architecture, *, key: Key[Array, ""]) -> None:
        dim, hidden = architecture.dim, architecture.hidden
        keys = jax.random.split(key, 6)
        self.query, self.key, self.value, self.output = (
            Linear(dim, dim, bias=False, key=k) for k in keys[:4]
        )
        self.attention_norm = LayerNorm(dim)
        self.expand = Linear(dim, hidden, bias=True, key=keys[4])
        self.contract = Linear(hidden, dim, bias=True, key=keys[5])
        self.feed_forward_norm = LayerNorm(dim)
        self.architecture = architecture

    def heads(
        self, queries: Float[Array, "batch query dim"], context: Float[Array, "batch time dim"]
    ) -> tuple[Float[Array, "batch head _ head_dim"], ...]:
        """Returns q, k and v, split into heads."""
        return tuple(
            jnp.swapaxes(y.reshape(*y.shape[:2], self.architecture.heads, -1), 1, 2)
            for y in (self.query(queries), self.key(context), self.value(context))
        )

    def finish(
        self,
        x: Float[Array, "batch query dim"],
        attended: Float[Array, "batch head query head_dim"],
        keys: tuple[Key[Array, ""], Key[Array, ""]] | None = None,
        first: Length = 0,
    ) -> Float[Array, "batch query dim"]:
        """Applies everything after the attention of a block; `keys` are for dropout."""
        rate = self.architecture.dropout
        to_attention, to_feed_forward = keys or (None, None)
        joined = self.output(jnp.swapaxes(attended, 1, 2).reshape(x.shape))
        x = self.attention_norm(x + dropout(joined, rate, to_attention, first))
        fed = self.contract(jax.nn.relu(self.expand(x)))
        return self.feed_forward_norm(x + dropout(fed, rate, to_feed_forward, first))


def _inside(outputs: tuple[Length, int] | None, time: int) -> tuple[Length, int] | None:
    """Checks that selected tokens lie inside the sequence: `dynamic_slice` clamps silently."""
    if outputs is None:
        return None
    start, size = outputs
    if isinstance(start, int) and not 0 <= start <= time - size:
        raise UserError(f"outputs={outputs} reach beyond the {time} tokens of the sequence.")
    return jnp.clip(start, 0, time - size), size


def _example_by_example(function: Callable[..., Array]) -> Callable[..., Array]:
    """Maps a function of batches and of a view or positions over examples that each have theirs."""

    def one(*arguments):
        *arrays, where = arguments
        return function(*(x[None] for x in arrays), where)[0]

    return jax.vmap(one)


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
        unscaled = type(encoding).attend is not Encoding.attend and not encoding.scales
        if architecture.attention_scale != "constant" and unscaled:
            raise UserError(
                f"attention_scale={architecture.attention_scale!r} does not apply to "
                f"{encoding.name}, which does not attend by a softmax of logits; pass constant."
            )
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
        keys = self._dropout_keys(key)
        x = self.embed(tokens, positions, keys[-1])
        own = per_example(positions)
        split = lambda y: y.reshape(pieces, -1, *y.shape[1:])  # noqa: E731
        for layer in range(self.architecture.layers):
            # Adding a zero that XLA cannot foresee makes positions depend on the layer before.
            # Otherwise XLA prepares the views of all layers before the first one, and for
            # relative at T = 1500 each takes 0.5 GiB.
            zero = jnp.nan_to_num(jnp.minimum(jnp.abs(x[0, 0, 0]), 0.0)).astype(jnp.int32)
            tied = jax.tree.map(lambda index, zero=zero: index + zero, positions)
            shared = None if own else self.view(tied, mask=mask, outputs=outputs)[layer]
            apply = partial(self._apply_piece, layer, shared, mask, outputs, keys[layer])
            firsts = len(x) // pieces * jnp.arange(pieces)
            x = jax.lax.map(apply, (split(x), firsts, jax.tree.map(split, tied) if own else None))
            x = x.reshape(-1, *x.shape[2:])
        return self.head(x)

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
            see = lambda where, row: self.view(  # noqa: E731
                where, mask=None if row is None else row[None], outputs=outputs, start=start
            )
            return jax.vmap(see)(positions, rows)
        layers = self.architecture.layers
        per_layer = [positions] * layers if isinstance(positions, Positions) else list(positions)
        if len(per_layer) != layers:
            raise UserError(f"{len(per_layer)} draws of positions do not fit {layers} layers.")
        first: list[Length] = [start] * layers
        outputs = _inside(outputs, len(per_layer[-1].key))
        if outputs is not None:
            per_layer[-1], first[-1] = per_layer[-1].rows(*outputs), outputs[0]
        views: list[View] = []
        for layer, where in enumerate(per_layer):
            if layer and where is per_layer[layer - 1]:
                precomputed, _, allowed, scale = views[-1]
            else:
                allowed = self.allowed(where, mask, first[layer])
                precomputed = self.encoding.precompute(where, allowed)
                scale = log_visible(allowed) if self.architecture.attention_scale == "log" else None
            per_layer_values = self.encoding.precompute_layer(precomputed, layer)
            views.append(View(precomputed, per_layer_values, allowed, scale))
        return tuple(views)

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
        keys = self._dropout_keys(key)
        x = self.embed(tokens, positions, keys[-1], first)
        for layer, view in enumerate(views):
            x = self._apply(layer, view, outputs, keys[layer], x, first)
        return self.head(x)

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
        layer: int,
        view: View,
        outputs: tuple[Length, int] | None,
        keys: tuple[Key[Array, ""], Key[Array, ""]] | None,
        x: Float[Array, "batch time dim"],
        first: Length,
    ) -> Float[Array, "batch query dim"]:
        """Applies a block; the last one to the tokens that `outputs` selects."""
        context = x
        if outputs is not None and layer == self.architecture.layers - 1:
            x = jax.lax.dynamic_slice_in_dim(x, *outputs, axis=1)
        q, k, v = self.blocks[layer].heads(x, context)
        attend = partial(self.encoding.attend, layer=layer)
        attend = _example_by_example(attend) if view.per_example else attend
        attended = attend(x, q, k, v, view)
        return self.blocks[layer].finish(x, attended, keys, first)

    def _apply_piece(
        self,
        layer: int,
        shared: View | None,
        mask: Bool[Array, "#batch time"] | None,
        outputs: tuple[Length, int] | None,
        keys: tuple[Key[Array, ""], Key[Array, ""]] | None,
        piece: tuple[Array, Length, Any],
    ) -> Float[Array, "batch query dim"]:
        """Applies a block to a piece of a batch; without a `shared` view, by its own positions."""
        x, first, where = piece
        view = shared or self.view(where, mask=mask, outputs=outputs)[layer]
        return self._apply(layer, view, outputs, keys, x, first)

    def _dropout_keys(self, key: Key[Array, ""] | None) -> list[Any]:
        """Returns a pair of keys per block and one for the embeddings, or Nones."""
        layers = self.architecture.layers
        if key is None:
            return [None] * (layers + 1)
        *keys, to_embedding = jax.random.split(key, 2 * layers + 1)
        return [*zip(keys[::2], keys[1::2], strict=True), to_embedding]

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

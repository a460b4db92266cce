"""The encoder-only, post-norm Transformer of the paper (appendix A).

It calls the interface of an encoding and never asks which encoding it is.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from randpos.encodings import Encoding
from randpos.encodings.base import LayerNumber, View
from randpos.errors import UserError
from randpos.nn.block import Block
from randpos.nn.dropout import dropout, keep_mask
from randpos.nn.layers import Linear, truncated_normal
from randpos.nn.pieces import logits_in_pieces
from randpos.nn.views import Outputs, all_views, inside, selected_shape
from randpos.positions import Length, Positions, per_example
from randpos.settings import Architecture


class Trace(NamedTuple):
    """The intermediate values of a call, layer by layer."""

    embeddings: Float[Array, "batch time dim"]
    activations: tuple[Float[Array, "batch time dim"], ...]
    attention: tuple[Float[Array, "batch head time time"], ...]
    logits: Float[Array, "batch time classes"]


def _example_by_example(function: Callable[..., Array]) -> Callable[..., Array]:
    """Maps a function of batches and of a view or positions over examples that each have theirs."""

    def apply(*arguments):
        *arrays, where = arguments
        return function(*(x[None] for x in arrays), where)[0]

    return jax.vmap(apply)


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
        outputs: Outputs | None = None,
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
        outputs = inside(outputs, tokens.shape[1])
        if pieces == 1:
            views = self.view(positions, mask=mask, outputs=outputs)
            return self.logits(tokens, positions, views, outputs=outputs, key=key)
        return logits_in_pieces(self, tokens, positions, mask, outputs, key, pieces)

    def view(
        self,
        positions: Positions | Sequence[Positions],
        *,
        mask: Bool[Array, "#batch time"] | None = None,
        outputs: Outputs | None = None,
        start: Length = 0,
    ) -> tuple[View, ...]:
        """Computes what each layer sees of the positions; it does not depend on the tokens.

        A batch that is computed in pieces needs it only once, unless examples have positions of
        their own. Where the positions are rows of those of a sequence, `start` is the place of the
        first row.
        """
        return all_views(self.encoding, self.architecture, positions, mask, outputs, start)

    def logits(
        self,
        tokens: Int[Array, "batch time"],
        positions: Positions | Sequence[Positions],
        views: tuple[View, ...],
        *,
        outputs: Outputs | None = None,
        key: Key[Array, ""] | None = None,
        first: Length = 0,
    ) -> Float[Array, "batch output classes"]:
        """Finishes a call from prepared views; `first` numbers the first example for dropout."""
        outputs = inside(outputs, tokens.shape[1])
        keys, to_embedding = self.dropout_keys(key)
        x = self.embed(tokens, positions, to_embedding, first)
        *equal, last = self.blocks
        kept = None if keys is None else self.dropout_masks(keys[:-1].ravel(), x.shape, first)
        for layer, block in enumerate(equal):
            masks = None if kept is None else kept[2 * layer : 2 * layer + 2]
            x = self.apply_block(layer, block, views[layer], None, masks, x)
        last_keys = None if keys is None else keys[-1]
        kept = self.dropout_masks(last_keys, selected_shape(x, outputs), first)
        return self.head(self.apply_block(len(equal), last, views[-1], outputs, kept, x))

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

    def apply_block(
        self,
        layer: LayerNumber,
        block: Block,
        view: View,
        outputs: Outputs | None,
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

    def dropout_keys(
        self, key: Key[Array, ""] | None
    ) -> tuple[Key[Array, "layer 2"] | None, Key[Array, ""] | None]:
        """Returns a pair of keys per block and one for the embeddings, or Nones."""
        if key is None:
            return None, None
        keys = jax.random.split(key, 2 * self.architecture.layers + 1)
        return keys[:-1].reshape(-1, 2), keys[-1]

    def dropout_masks(
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

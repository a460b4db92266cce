"""The interface of an encoding: the four places where positions can enter a Transformer.

    embed   ->  added to the token embeddings              (sin/cos, learned)
    rotate  ->  applied to queries and keys of each layer  (RoPE)
    bias    ->  added to the attention logits              (ALiBi, relative, T5, KERPLE, FIRE)
    weights ->  attention without a softmax                (geometric)

An encoding overrides the one that it needs. It sees `Positions` and never learns whether they were
randomized, so every encoding works with every position scheme.
"""

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from randpos.nn.attention import softmax_attention, softmax_weights
from randpos.positions import Positions
from randpos.settings import Reading, Shape

Queries = Float[Array, "batch head query dim"]
Keys = Float[Array, "batch head key dim"]
Logits = Float[Array, "#batch #head query key"]
Mask = Bool[Array, "#batch #head #query key"]


class View(NamedTuple):
    """What a layer sees of the positions."""

    shared: Any
    """What `Encoding.share` made of the positions."""
    table: Any
    """What `Encoding.table` made of that and the layer's parameters."""
    mask: Mask
    """Which keys each query may attend to."""


class Encoding(eqx.Module):
    """No positions at all, and the base of all encodings: `Encoding(shape, key=key)`.

    Parameters that differ between layers are stacked along a leading axis; `layer` selects.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    reference: ClassVar[str] = ""
    additive: ClassVar[bool] = False
    """Whether `embed` adds to the embeddings; dropout then follows it."""
    readings: ClassVar[tuple[Reading, ...]] = ("positions",)
    """The readings of randomized offsets that make a difference to it; the first is the default."""
    layerwise: ClassVar[bool] = True
    """Whether positions enter in every layer, so that they can be drawn anew in each."""

    shape: Shape = eqx.field(static=True)

    def __init__(self, shape: Shape, *, key: Key[Array, ""]) -> None:
        """Makes an encoding for a model of the given shape, its parameters drawn from `key`."""
        self.shape = shape

    def embed(
        self, x: Float[Array, "batch time dim"], positions: Positions
    ) -> Float[Array, "batch time dim"]:
        """Adds positions to the token embeddings."""
        return x

    def share(self, positions: Positions, mask: Mask) -> Any:
        """Computes what layers need of the positions alone: no parameters enter."""
        return None

    def table(self, shared: Any, layer: int) -> Any:
        """Computes what a layer needs of positions and parameters, but not of the tokens.

        It is formed once per batch, however many pieces the batch is computed in.
        """
        return None

    def rotate(self, q: Queries, k: Keys, view: View, layer: int) -> tuple[Queries, Keys]:
        """Lets positions enter the queries and keys of a layer."""
        return q, k

    def bias(self, q: Queries, view: View, layer: int) -> Logits | None:
        """Returns what is added to the scaled logits of a layer."""
        return None

    def attend(
        self,
        x: Float[Array, "batch query model"],
        q: Queries,
        k: Keys,
        v: Keys,
        view: View,
        layer: int,
    ) -> Queries:
        """Attends from every query to the keys that it may see."""
        bias = self.bias(q, view, layer)
        q, k = self.rotate(q, k, view, layer)
        return softmax_attention(q, k, v, bias, view.mask)

    def weights(
        self,
        x: Float[Array, "batch query model"],
        q: Queries,
        k: Keys,
        view: View,
        layer: int,
    ) -> Float[Array, "batch head query key"]:
        """Returns the weights with which `attend` averages the values, for analysis."""
        bias = self.bias(q, view, layer)
        q, k = self.rotate(q, k, view, layer)
        return softmax_weights(q, k, bias, view.mask)


class NoEncoding(Encoding):
    """No positional information: the model is permutation-equivariant."""

    name = "none"
    description = "No positions; the model cannot tell the order of its tokens."
    layerwise = False


def per_head(table: Float[Array, "query key head"]) -> Float[Array, "1 head query key"]:
    """Turns a value per pair of tokens and head into a bias shared by the batch."""
    return jnp.moveaxis(table, -1, 0)[None]

"""The interface of an encoding: the places where positions can enter a Transformer.

    embed             changes the token embeddings                    (sin/cos, learned)
    transform         changes queries and keys of a layer             (RoPE, relative)
    bias              is added to the scaled logits of a layer        (ALiBi, relative, T5, …)
    weights           replaces the softmax attention of a layer       (geometric)

Two more hooks prepare what these need, once per batch:

    precompute        from positions alone, shared by all layers
    precompute_layer  from the above and the parameters of a layer, but no tokens

An encoding overrides those that it needs; each does nothing by default. It sees `Positions`,
which do not say whether they were randomized, so every encoding works with every position scheme.
"""

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from randpos.errors import UserError
from randpos.nn.attention import softmax_attention, softmax_weights
from randpos.positions import Positions
from randpos.settings import AttentionScale, Reading, Shape

Queries = Float[Array, "batch head query dim"]
Keys = Float[Array, "batch head key dim"]
Logits = Float[Array, "#batch #head query key"]
Mask = Bool[Array, "#batch #head #query key"]
Scale = Float[Array, "#batch #head #query 1"]
LayerNumber = int | Int[Array, ""]
"""The number of a layer. Evaluation loops over the layers, so that the number may be traced: use it
as an index, and never in a Python `if`."""


class View(NamedTuple):
    """What a layer sees of the positions."""

    precomputed: Any
    """The result of `Encoding.precompute`."""
    per_layer: Any
    """The result of `Encoding.precompute_layer`."""
    mask: Mask
    """Which keys each query may attend to."""
    scale: Scale | None = None
    """What the logits of each query are multiplied by; None is 1."""

    @property
    def per_example(self) -> bool:
        """Whether every example has a view of its own, along a leading axis."""
        return self.mask.ndim > 4


def check_time(x: Float[Array, "*batch time dim"], positions: Int[Array, "..."]) -> None:
    """Raises `UserError` if there is not one position per token: JAX would broadcast."""
    tokens, count = x.shape[-2], positions.shape[-1]
    if tokens != count:
        raise UserError(
            f"x has {tokens} tokens, but there are {count} positions; "
            "pass one position for each token."
        )


class Encoding(eqx.Module):
    """The base class of all encodings, `Encoding(shape, key=key)`; by itself it adds no positions.

    Parameters that differ between layers are stacked along a leading axis; `layer` selects.
    """

    name: ClassVar[str]
    """The name on the command line, without the prefix of a position scheme."""
    description: ClassVar[str]
    """One sentence for listings."""
    reference: ClassVar[str] = ""
    label: ClassVar[str] = ""
    """The name in tables and figures; by default `name`."""
    color: ClassVar[str] = "#000000"
    marker: ClassVar[str] = "*"
    """A marker of Matplotlib."""
    pytorch: ClassVar[bool] = False
    """Whether `randpos.torch` has the same encoding, so that models can be exported."""
    additive: ClassVar[bool] = False
    """Whether `embed` adds to the embeddings; dropout then follows it."""
    readings: ClassVar[tuple[Reading, ...]] = ("positions",)
    """The readings of randomized offsets that this encoding supports; the first is the default."""
    layerwise: ClassVar[bool] = True
    """Whether positions enter in every layer, so that they can be drawn anew in each."""
    scales: ClassVar[bool] = False
    """Whether an overridden `attend` or `weights` multiplies the logits by `view.scale`."""
    causal: ClassVar[bool] = True
    """Whether a decoder can use it: the attention of a query depends only on its row of mask and
    positions, so that tokens can be added one at a time."""

    shape: Shape = eqx.field(static=True)

    def __init__(self, shape: Shape, *, key: Key[Array, ""]) -> None:
        """Makes an encoding for a model of the given shape, its parameters drawn from `key`."""
        self.shape = shape

    def embed(
        self, x: Float[Array, "batch time dim"], positions: Positions
    ) -> Float[Array, "batch time dim"]:
        """Adds positions to the token embeddings."""
        check_time(x, positions.query)
        return x

    def precompute(self, positions: Positions, mask: Mask) -> Any:
        """Computes what all layers need of the positions; no parameters enter."""
        return None

    def precompute_layer(self, precomputed: Any, layer: LayerNumber) -> Any:
        """Computes what a layer needs of positions and parameters; no tokens enter.

        It is computed once per batch, however many pieces the batch is computed in.
        """
        return None

    def transform(
        self, q: Queries, k: Keys, view: View, layer: LayerNumber
    ) -> tuple[Queries, Keys]:
        """Returns the queries and keys whose products are the logits of a layer.

        A key may depend on its own position only: a decoder stores the transformed key.
        """
        return q, k

    def bias(self, q: Queries, view: View, layer: LayerNumber) -> Logits | None:
        """Returns what is added to the scaled logits of a layer; `q` is not transformed."""
        return None

    def attend(
        self,
        x: Float[Array, "batch query model"],
        q: Queries,
        k: Keys,
        v: Keys,
        view: View,
        layer: LayerNumber,
    ) -> Queries:
        """Returns the attention of a layer; `x` are the activations of the queries.

        It equals `weights(...) @ v`. Override it only to compute that faster.
        """
        if type(self).weights is not Encoding.weights:
            return self.weights(x, q, k, view, layer) @ v
        bias = self.bias(q, view, layer)
        q, k = self.transform(q, k, view, layer)
        return softmax_attention(q, k, v, bias, view.mask, view.scale)

    def weights(
        self,
        x: Float[Array, "batch query model"],
        q: Queries,
        k: Keys,
        view: View,
        layer: LayerNumber,
    ) -> Float[Array, "batch head query key"]:
        """Returns the weights with which `attend` averages the values."""
        bias = self.bias(q, view, layer)
        q, k = self.transform(q, k, view, layer)
        return softmax_weights(q, k, bias, view.mask, view.scale)

    @classmethod
    def replaces_attention(cls) -> bool:
        """Returns whether the encoding overrides `attend` or `weights`."""
        return cls.attend is not Encoding.attend or cls.weights is not Encoding.weights

    @classmethod
    def check_scale(cls, attention_scale: AttentionScale) -> None:
        """Raises `UserError` if the encoding does not apply this scale to its logits."""
        unscaled = cls.replaces_attention() and not cls.scales
        if attention_scale != "constant" and unscaled:
            raise UserError(
                f"attention_scale={attention_scale!r} does not apply to {cls.name}, which does not "
                "attend by a softmax of logits; pass constant."
            )

    @classmethod
    def operations(cls, shape: Shape, tokens: int) -> float:
        """Returns the operations per query and layer beyond those of plain attention.

        Counts multiplications and additions of matrix products, at `tokens` keys; for estimates.
        """
        return 0.0


class NoEncoding(Encoding):
    """No positional information: the model is permutation-equivariant."""

    name = "none"
    description = "No positions; the model cannot tell the order of its tokens."
    label = "None"
    color = "#7f7f7f"
    marker = "."
    pytorch = True
    layerwise = False


def per_head(table: Float[Array, "query key head"]) -> Float[Array, "1 head query key"]:
    """Turns a value per pair of tokens and head into a bias shared by the batch."""
    return jnp.moveaxis(table, -1, 0)[None]

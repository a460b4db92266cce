"""The interface of an encoding in PyTorch; the same places as in `randpos.encodings.base`.

One module serves one attention layer; those without parameters of their own can serve all layers.
Positions are integers from 1 on, of shape `[time]` or, with a draw per sequence, `[batch, time]`.
"""

from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int, Integer
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from randpos.errors import UserError

# The axes have names of their own, so that `check_time` can report a wrong number of positions.
Positions = Integer[Tensor, "*rows position"]
QueryPositions = Integer[Tensor, "*rows query_position"]
Offsets = Int[Tensor, "*rows query key"]
Queries = Float[Tensor, "batch head query dim"]
Keys = Float[Tensor, "batch head key dim"]
Values = Float[Tensor, "batch head value dim"]
"""As many as keys, which `check_pairs` says in a sentence."""
Bias = Float[Tensor, "... head query key"]
Mask = Bool[Tensor, "#batch #head #query key"]
Weights = Float[Tensor, "batch head query key"]
Scale = Float[Tensor, "#batch #head #query 1"]

NEVER = -1e30
"""The logit of a forbidden key; finite, so that a row of forbidden keys is not NaN."""


def offsets_of(keys: Positions, queries: QueryPositions | None = None) -> Offsets:
    """Returns how far each query stands to the right of each key.

    >>> offsets_of(torch.tensor([3, 7])).tolist()
    [[0, -4], [4, 0]]
    >>> offsets_of(torch.tensor([3, 7]), torch.tensor([7])).tolist()
    [[4, 0]]
    """
    keys = int64_positions(keys)
    queries = keys if queries is None else int64_positions(queries)
    return queries[..., :, None] - keys[..., None, :]


def int64_positions(positions: Tensor) -> Int[Tensor, "..."]:
    """Returns positions as int64: sums and differences of smaller types wrap around."""
    if positions.is_floating_point() or positions.dtype == torch.bool:
        raise UserError(f"positions have the type {positions.dtype}; pass integers.")
    return positions.long()


def check_time(name: str, tokens: int, positions: Positions, way_out: str = "") -> None:
    """Raises `UserError` if there is not one position per token: PyTorch would broadcast."""
    if tokens != positions.shape[-1]:
        raise UserError(
            f"{name} has {tokens} tokens, but there are {positions.shape[-1]} positions; "
            f"pass one position for each token{way_out}."
        )


def check_pairs(
    q: Queries, k: Keys, v: Values, positions: Positions, query_positions: QueryPositions | None
) -> None:
    """Raises `UserError` if queries, keys or values and their positions differ in number."""
    check_time("k", k.shape[-2], positions)
    check_time("v", v.shape[-2], positions)
    standing = positions if query_positions is None else query_positions
    check_time("q", q.shape[-2], standing, ", those of the queries as query_positions")


class Encoding(nn.Module):
    """The base class of all encodings; by itself it adds no positions."""

    additive: ClassVar[bool] = False
    """Whether `embed` adds to the embeddings; dropout then follows it."""
    parameters_per_layer: ClassVar[bool] = False
    """Whether every layer needs a module of its own, because it has parameters of its own."""
    one_sided: bool = False
    """Whether it serves a decoder, and takes the causal form of its authors."""

    def embed(
        self, x: Float[Tensor, "batch time dim"], positions: Positions
    ) -> Float[Tensor, "batch time dim"]:
        """Adds positions to the token embeddings."""
        return x

    def transform(
        self,
        q: Queries,
        k: Keys,
        positions: Positions,
        query_positions: QueryPositions | None = None,
    ) -> tuple[Queries, Keys]:
        """Returns the queries and keys whose products are the logits."""
        return q, k

    def bias(self, q: Queries, offsets: Offsets, mask: Mask | None = None) -> Bias | None:
        """Returns what is added to the scaled logits: an `attn_mask` for PyTorch's attention."""
        return None

    def weights(
        self,
        q: Queries,
        k: Keys,
        offsets: Offsets,
        mask: Mask | None,
        x: Float[Tensor, "batch query model"] | None,
        scale: Scale | None,
    ) -> Weights | None:
        """Returns attention weights that are not a softmax of logits; None for a softmax."""
        return None

    @classmethod
    def replaces_attention(cls) -> bool:
        """Returns whether the encoding overrides `weights` or `forward`."""
        return cls.weights is not Encoding.weights or cls.forward is not Encoding.forward

    def forward(
        self,
        q: Queries,
        k: Keys,
        v: Values,
        positions: Positions,
        *,
        query_positions: QueryPositions | None = None,
        mask: Mask | None = None,
        offsets: Offsets | None = None,
        x: Float[Tensor, "batch query model"] | None = None,
        scale: Scale | None = None,
    ) -> Queries:
        """Attends by `scaled_dot_product_attention`, with positions where this encoding has them.

        Args:
            q: Queries.
            k: Keys.
            v: Values.
            positions: Where the keys stand.
            query_positions: Where the queries stand; by default where the keys do.
            mask: Which keys each query may attend to; by default all.
            offsets: Distances between tokens, where they are not differences of the positions.
            x: What queries and keys were made of; only geometric attention needs it.
            scale: What the logits of each query are multiplied by, beside 1/√d.

        Returns:
            The attended values.
        """
        check_pairs(q, k, v, positions, query_positions)
        if offsets is None:
            offsets = offsets_of(positions, query_positions)
        weights = self.weights(q, k, offsets, mask, x, scale)
        if weights is not None:
            return weights @ v
        bias = self.bias(q, offsets, mask)
        q, k = self.transform(q, k, positions, query_positions)
        return self.attend(q, k, v, bias, mask, scale)

    def attend(
        self,
        q: Queries,
        k: Keys,
        v: Values,
        bias: Bias | None,
        mask: Mask | None,
        scale: Scale | None,
    ) -> Queries:
        """Attends with queries and keys from `transform` and what `bias` returned."""
        if scale is not None:
            q, bias = q * scale, None if bias is None else bias * scale
        if bias is None:
            return scaled_dot_product_attention(q, k, v, attn_mask=mask)
        if mask is not None:
            bias = torch.where(mask, bias, NEVER)
        return scaled_dot_product_attention(q, k, v, attn_mask=bias)

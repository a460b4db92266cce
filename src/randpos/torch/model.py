"""The paper's encoder in PyTorch, for weights that were trained with randpos (section A)."""

from collections.abc import Sequence
from typing import get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from randpos.errors import unknown
from randpos.settings import AttentionScale
from randpos.torch.encodings.base import Encoding, Mask, Scale

Layers = Tensor | Sequence[Tensor]


class Block(nn.Module):
    """Attention and feed-forward, each with dropout, a residual connection and a LayerNorm."""

    def __init__(self, dim: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (
            nn.Linear(dim, dim, bias=False) for _ in range(4)
        )
        self.attention_norm = nn.LayerNorm(dim, eps=1e-5)
        self.expand = nn.Linear(dim, hidden)
        self.contract = nn.Linear(hidden, dim)
        self.feed_forward_norm = nn.LayerNorm(dim, eps=1e-5)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch time dim"],
        encoding: Encoding,
        positions: Tensor,
        offsets: Tensor | None,
        mask: Mask | None,
        scale: Scale | None = None,
    ) -> Float[Tensor, "batch time dim"]:
        """Applies the block with one layer's encoding."""
        q, k, v = self.split_heads(x)
        attended = encoding(q, k, v, positions, mask=mask, offsets=offsets, x=x, scale=scale)
        return self.finish(x, attended)

    def split_heads(
        self, x: Float[Tensor, "batch time dim"]
    ) -> tuple[Float[Tensor, "batch head time head_dim"], ...]:
        """Returns q, k and v, split into heads."""
        return tuple(
            y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for y in (self.query(x), self.key(x), self.value(x))
        )

    def finish(
        self,
        x: Float[Tensor, "batch time dim"],
        attended: Float[Tensor, "batch head time head_dim"],
    ) -> Float[Tensor, "batch time dim"]:
        """Applies everything after the attention."""
        joined = self.output(attended.transpose(1, 2).flatten(-2))
        x = self.attention_norm(x + self.dropout(joined))
        fed = self.contract(torch.relu(self.expand(x)))
        return self.feed_forward_norm(x + self.dropout(fed))


class Encoder(nn.Module):
    """Token embedding, an encoding, blocks and an output head: `randpos.Encoder` in PyTorch.

    Args:
        vocabulary: Number of different tokens, the reserved ones included.
        classes: Number of output classes.
        encodings: One encoding for all layers, or as many as there are layers.
        layers: Number of blocks.
        heads: Attention heads per block.
        dim: Width of the model.
        hidden: Width of the feed-forward layers.
        dropout: Probability of dropping an activation in training.
        causal: Attend only to tokens at or before the query.
        attention_scale: `log` multiplies the logits of attention by the logarithm of the number of
            keys that the query may attend to; `constant` does not.
        window: Attend only to the nearest W tokens, as `randpos.Architecture` says; 0: to all.

    Example:
        >>> from randpos.torch import RoPE, sample_positions
        >>> model = Encoder(vocabulary=4, classes=2, encodings=[RoPE()])
        >>> model(torch.zeros(3, 10, dtype=torch.long), sample_positions(0, 10)).shape
        torch.Size([3, 10, 2])
    """

    def __init__(
        self,
        vocabulary: int,
        classes: int,
        encodings: Sequence[Encoding],
        *,
        layers: int = 5,
        heads: int = 8,
        dim: int = 64,
        hidden: int = 256,
        dropout: float = 0.1,
        causal: bool = False,
        attention_scale: AttentionScale = "constant",
        window: int = 0,
    ) -> None:
        super().__init__()
        if attention_scale not in get_args(AttentionScale):
            raise unknown("attention_scale", attention_scale, get_args(AttentionScale))
        start = nn.init.trunc_normal_(torch.empty(vocabulary, dim), std=0.02, a=-0.04, b=0.04)
        self.embedding = nn.Parameter(start)
        self.encodings = nn.ModuleList(encodings)
        self.blocks = nn.ModuleList(Block(dim, heads, hidden, dropout) for _ in range(layers))
        self.head = nn.Linear(dim, classes)
        self.dropout = nn.Dropout(dropout if encodings[0].additive else 0.0)
        self.causal, self.attention_scale, self.window = causal, attention_scale, window

    def forward(
        self,
        tokens: Int[Tensor, "batch time"],
        positions: Layers,
        *,
        offsets: Layers | None = None,
        mask: Bool[Tensor, "#batch time"] | None = None,
    ) -> Float[Tensor, "batch time classes"]:
        """Returns the logits of all tokens.

        Args:
            tokens: Token numbers.
            positions: Where they stand, `[time]` or `[batch, time]`; a sequence gives every layer
                its own.
            offsets: Distances between them, where they are not differences of the positions.
            mask: Which tokens are real; by default all.
        """
        count = len(self.blocks)
        places = [positions] * count if isinstance(positions, Tensor) else positions
        apart = [offsets] * count if offsets is None or isinstance(offsets, Tensor) else offsets
        x = self.embed(tokens, places[0])
        allowed = self._allowed(tokens, mask)
        scale = self._scale(tokens, allowed)
        for layer, block in enumerate(self.blocks):
            x = block(x, self.encoding_of(layer), places[layer], apart[layer], allowed, scale)
        return self.head(x)

    def block_of(self, layer: int) -> Block:
        """Returns the block of a layer."""
        return self.blocks[layer]  # type: ignore[return-value]

    def encoding_of(self, layer: int) -> Encoding:
        """Returns the encoding of a layer."""
        return self.encodings[layer % len(self.encodings)]  # type: ignore[return-value]

    def embed(self, tokens: Tensor, positions: Tensor) -> Float[Tensor, "batch time dim"]:
        """Returns the scaled embeddings of tokens, with positions where the encoding adds them."""
        x = self.embedding[tokens] * self.embedding.shape[1] ** 0.5
        return self.dropout(self.encoding_of(0).embed(x, positions))

    def visible(self, queries: Tensor, keys: Tensor) -> Bool[Tensor, "1 1 query key"]:
        """Returns which keys each query may attend to, by their places in the sequence."""
        apart = queries[:, None] - keys
        seen = (apart >= 0) if self.causal else torch.ones_like(apart, dtype=torch.bool)
        if self.window:
            near = apart < self.window if self.causal else apart.abs() <= self.window // 2
            seen = seen & near
        return seen[None, None]

    def _allowed(self, tokens: Tensor, mask: Tensor | None) -> Mask | None:
        """Says which keys each query may attend to."""
        allowed = None if mask is None else mask[:, None, None, :]
        if not (self.causal or self.window):
            return allowed
        place = torch.arange(tokens.shape[1], device=tokens.device)
        seen = self.visible(place, place)
        return seen if allowed is None else allowed & seen

    def _scale(self, tokens: Tensor, allowed: Mask | None) -> Scale | None:
        """Returns the logarithm of the number of keys that each query may attend to."""
        if self.attention_scale == "constant":
            return None
        if allowed is None:
            allowed = torch.ones(1, 1, 1, tokens.shape[1], dtype=torch.bool, device=tokens.device)
        return allowed.sum(dim=-1, keepdim=True).clamp(min=1).to(self.embedding.dtype).log()

"""Decoders that were trained with randpos, in PyTorch: answers token by token, with a cache."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from randpos.errors import UserError
from randpos.torch.encodings.base import offsets_of
from randpos.torch.model import Encoder, Layers


class Generated(NamedTuple):
    """Greedy answers."""

    classes: Int[Tensor, "batch answer"]
    """The output classes, numbered as the task numbers them."""
    logits: Float[Tensor, "batch answer classes"]


class Decoder(Encoder):
    """A causal `Encoder` that reads its own answers.

    Args:
        *arguments: Those of `Encoder`.
        separator: The token between input and answer.
        answer_tokens: The token of each output class.
        thinking: Blank tokens after the input, per token of input.
        blank: The blank token, if there are any.
        **options: Those of `Encoder`; `causal` is always on.
    """

    def __init__(
        self,
        *arguments: Any,
        separator: int,
        answer_tokens: Sequence[int],
        thinking: int = 0,
        blank: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **{**options, "causal": True})
        self.separator, self.thinking, self.blank = separator, thinking, blank
        tokens = torch.tensor(answer_tokens)
        self.register_buffer("answer_tokens", tokens, persistent=False)

    def prompt(self, inputs: Int[Tensor, "batch input"]) -> Int[Tensor, "batch prompt"]:
        """Returns the tokens before the separator: the input and the blanks after it."""
        blanks = self.thinking * inputs.shape[1]
        if not blanks or self.blank is None:
            return inputs
        return torch.cat([inputs, inputs.new_full((len(inputs), blanks), self.blank)], dim=1)

    @torch.no_grad()
    def generate(
        self,
        inputs: Int[Tensor, "batch input"],
        positions: Layers,
        answers: int,
        *,
        offsets: Layers | None = None,
    ) -> Generated:
        """Answers greedily; every token is read once, and its keys and values are kept.

        Args:
            inputs: The task's input tokens.
            positions: One draw for prompt, separator and all answer tokens but the last, as
                `Encoder` takes positions.
            answers: The number of answer tokens, |y|.
            offsets: Distances between the tokens, where they are not differences of the positions.
        """
        prompt = self.prompt(inputs)
        total = prompt.shape[1] + answers
        layers = len(self.blocks)
        places = [positions] * layers if isinstance(positions, Tensor) else positions
        if any(where.shape[-1] != total for where in places):
            raise UserError(
                f"the sequence has {total} tokens, but there are {places[0].shape[-1]} positions; "
                "pass one for each token of prompt and answer."
            )
        cache = self._empty_cache(len(inputs), total)
        if prompt.shape[1]:
            self._read(prompt, 0, places, offsets, cache)
        token, found = prompt.new_full((len(prompt), 1), self.separator), []
        for place in range(prompt.shape[1], total):
            found.append(self._read(token, place, places, offsets, cache)[:, -1])
            token = self.get_buffer("answer_tokens")[found[-1].argmax(dim=-1)][:, None]
        logits = torch.stack(found, dim=1)
        return Generated(logits.argmax(dim=-1), logits)

    def _empty_cache(self, batch: int, total: int) -> list[tuple[Tensor, Tensor]]:
        """Returns room for the keys and values of every layer."""
        heads = self.block_of(0).heads
        shape = batch, heads, total, self.embedding.shape[1] // heads
        empty = self.embedding.new_empty
        return [(empty(shape), empty(shape)) for _ in self.blocks]

    def _read(
        self,
        tokens: Int[Tensor, "batch query"],
        first: int,
        places: Sequence[Tensor],
        offsets: Layers | None,
        cache: list[tuple[Tensor, Tensor]],
    ) -> Float[Tensor, "batch query classes"]:
        """Reads tokens from place `first` on, and returns their logits; all before are cached."""
        stop = first + tokens.shape[1]
        x = self.embed(tokens, places[0][..., first:stop])
        place = torch.arange(stop, device=tokens.device)
        allowed = self.visible(place[first:], place)
        scale = self._scale(tokens, allowed)
        for layer, (keys, values) in enumerate(cache):
            block, encoding = self.block_of(layer), self.encoding_of(layer)
            q, k, values[:, :, first:stop] = block.split_heads(x)
            standing, new = places[layer][..., :stop], places[layer][..., first:stop]
            apart = offsets if offsets is None or isinstance(offsets, Tensor) else offsets[layer]
            apart = offsets_of(standing, new) if apart is None else apart[..., first:stop, :stop]
            if not encoding.replaces_attention():
                bias = encoding.bias(q, apart, allowed)
                # A key is rotated once, when it is stored.
                q, keys[:, :, first:stop] = encoding.transform(q, k, new)
                read = keys[:, :, :stop], values[:, :, :stop]
                attended = encoding.attend(q, *read, bias, allowed, scale)
            else:
                keys[:, :, first:stop] = k
                read = keys[:, :, :stop], values[:, :, :stop]
                about = {"query_positions": new, "mask": allowed, "offsets": apart}
                attended = encoding(q, *read, standing, **about, x=x, scale=scale)
            x = block.finish(x, attended)
        return self.head(x)

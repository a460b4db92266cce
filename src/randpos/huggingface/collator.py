"""Randomized `position_ids` as a data collator: explicit inputs instead of hooks.

It adds an attention mask where there is none. Without one, `transformers` takes every jump in the
position ids for the start of a packed sequence, and each token then attends to itself only.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import get_worker_info

from randpos.errors import UserError
from randpos.huggingface.draws import Draw, Law, Per, Tokens
from randpos.huggingface.families import family_of
from randpos.huggingface.rope import check_rope
from randpos.huggingface.sites import find_site
from randpos.huggingface.tables import check_table


@dataclass
class PositionsCollator:
    """Wraps a data collator: adds random `position_ids`, and the mask that makes them safe.

    It suits training and scoring (see docs/own-model.md for Flash Attention with a batch of one,
    and for `generate`, which counts on from the last id: decode with `randomize_positions`
    instead). A resumed `Trainer` draws from the beginning, and evaluation shares the counter with
    training; `randomize_positions` with `RandomizedPositionsCallback` has neither limit.

    Args:
        collator: The collator that makes the batch; it must give `input_ids`.
        model: The model that the batches are for. It says how ids are counted; it is not kept.
        maximum: L; L ids are drawn from.
        per: One draw for the whole `batch`, or one for every `sequence` in it.
        seed: Seed of the draws; worker processes of a `DataLoader` mix their own seeds in.
        chunks: Draw skip-wise positions (PoSE) in so many contiguous chunks instead.

    Example:
        >>> from transformers import LlamaConfig, LlamaModel, default_data_collator
        >>> model = LlamaModel(LlamaConfig(vocab_size=9, hidden_size=8, intermediate_size=8,
        ...                                num_hidden_layers=1, num_attention_heads=2))
        >>> collator = PositionsCollator(default_data_collator, model, maximum=100, seed=0)
        >>> batch = collator([{"input_ids": [5, 6, 7]}, {"input_ids": [8, 9, 5]}])
        >>> sorted(batch)
        ['attention_mask', 'input_ids', 'position_ids']
        >>> bool((batch["position_ids"].diff() > 0).all())
        True
    """

    collator: Callable[[Any], Any]
    model: InitVar[nn.Module]
    maximum: int = 2048
    per: Per = "batch"
    seed: int = 0
    chunks: int | None = None
    batches: int = 0
    first: int = field(init=False)
    """The id of the first position: 0, or padding_idx + 1 for RoBERTa-type models."""

    def __post_init__(self, model: nn.Module) -> None:
        family = family_of(model)
        if "position_ids" not in inspect.signature(model.forward).parameters:
            raise UserError(
                f"{type(model).__name__} takes no position_ids; use randomize_positions instead."
            )
        site = find_site(model, family)
        check_rope(site.owner.config)
        check_table(family, site.inner, self.maximum)
        self.first = family.first(site.inner)

    def __call__(self, features: Sequence[Any]) -> Any:
        """Makes a batch of features.

        Args:
            features: What the wrapped collator takes.

        Returns:
            Its batch with `position_ids` and `attention_mask`.
        """
        batch = self.collator(features)
        if "position_ids" in batch:
            raise UserError("The wrapped collator gives position_ids already; remove one of both.")
        tokens = batch["input_ids"]
        mask = batch.get("attention_mask")
        real = np.ones(tokens.shape, bool) if mask is None else mask.cpu().numpy().astype(bool)
        # A RoBERTa-type table has a row for padding before the first position.
        ordinary = np.where(real, 0, -min(self.first, 1))
        drawn = self._draw().ids(Tokens(ordinary, real))
        batch["position_ids"] = torch.from_numpy(self.first + drawn).to(tokens.device)
        if mask is None:
            batch["attention_mask"] = torch.ones_like(tokens)
        return batch

    def _draw(self) -> Draw:
        worker = get_worker_info()
        # Workers start as copies of one collator, in every epoch anew; their seeds differ.
        seed = self.seed if worker is None else self.seed + worker.seed
        self.batches += 1
        return Draw(Law(self.maximum, self.per, self.chunks), (seed, 0, self.batches - 1))

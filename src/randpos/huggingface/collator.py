"""Randomized `position_ids` as a data collator, for those who prefer explicit inputs to hooks.

It adds an attention mask where there is none. Without one, `transformers` takes every jump in the
position ids for the start of a packed sequence, and each token then attends to itself only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from randpos.errors import UserError
from randpos.huggingface.draws import Draw, Law, Per


@dataclass
class PositionsCollator:
    """Wraps a data collator: adds random `position_ids`, and the mask that makes them safe.

    It does not know the model. It suits those whose `forward` takes `position_ids` counted from 0
    (see docs/own-model.md for Flash Attention with a batch of one, and for `generate`, which counts
    on from the last id: decode with `randomize_positions` instead).

    Args:
        collator: The collator that makes the batch; it must give `input_ids`.
        maximum: L; ids are drawn from {0..L−1}.
        per: One draw for the whole `batch`, or one for every `sequence` in it.
        seed: Seed of the draws; worker processes of a `DataLoader` mix their own seeds in.
        chunks: Draw skip-wise positions (PoSE) in so many contiguous chunks instead.

    Example:
        >>> from transformers import default_data_collator
        >>> collator = PositionsCollator(default_data_collator, maximum=100, seed=0)
        >>> batch = collator([{"input_ids": [5, 6, 7]}, {"input_ids": [8, 9, 5]}])
        >>> sorted(batch)
        ['attention_mask', 'input_ids', 'position_ids']
        >>> bool((batch["position_ids"].diff() > 0).all())
        True
    """

    collator: Callable[[Any], Any]
    maximum: int = 2048
    per: Per = "batch"
    seed: int = 0
    chunks: int | None = None
    batches: int = 0

    def __call__(self, features: Sequence[Any]) -> Any:
        """Makes a batch of features.

        Args:
            features: What the wrapped collator takes.

        Returns:
            Its batch with `position_ids` and `attention_mask`.
        """
        batch = self.collator(features)
        if "position_ids" in batch:
            raise UserError("The wrapped collator gives position_ids already; it would be undone.")
        tokens = batch["input_ids"]
        mask = batch.get("attention_mask")
        real = np.ones(tokens.shape, bool) if mask is None else mask.cpu().numpy().astype(bool)
        # Padding on either side: real tokens count 0, 1, 2, …, padding stands at 0.
        ordinary = np.where(real, real.cumsum(-1) - 1, -1)
        drawn = self._draw().ids(ordinary, real, packed=False)
        batch["position_ids"] = torch.from_numpy(drawn.clip(min=0)).to(tokens.device)
        if mask is None:
            batch["attention_mask"] = torch.ones_like(tokens)
        return batch

    def _draw(self) -> Draw:
        worker = get_worker_info()
        # Workers start as copies of one collator, in every epoch anew; their seeds differ.
        seed = self.seed if worker is None else self.seed + worker.seed
        self.batches += 1
        return Draw(Law(self.maximum, self.per, self.chunks), (seed, self.batches - 1))

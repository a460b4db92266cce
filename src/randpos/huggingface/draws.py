"""One draw of positions: a function from ordinary position ids to randomized ones.

A draw is only a seed. The table of a sequence of n tokens is sampled when it is asked for, with exactly
n entries: drawing for the padded length and cutting would favour low positions.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from randpos.errors import UserError
from randpos.torch.positions import sample_positions, sample_skipwise

Per = Literal["batch", "sequence"]


@dataclass(frozen=True)
class Law:
    """What every draw of one randomized model has in common.

    Args:
        maximum: L; ids are drawn from {0..L−1}, because Hugging Face counts from 0.
        per: Whether the sequences of a batch share a draw.
        chunks: None for the paper's law, else the number of contiguous chunks of PoSE.
    """

    maximum: int
    per: Per = "batch"
    chunks: int | None = None

    def table(self, seed: int, length: int) -> Tensor:
        """Returns the ids of tokens 0..length−1: ascending, in {0..L−1}."""
        if self.chunks is None:
            return sample_positions(seed, length, maximum=self.maximum) - 1
        return sample_skipwise(seed, length, maximum=self.maximum, chunks=self.chunks) - 1


@dataclass
class Draw:
    """The positions of one batch, or of one batch while it is being continued token by token.

    Args:
        law: The law of the draw.
        entropy: Seed and number of the draw; equal entropy gives equal positions.
        reserve: Positions kept for tokens that will follow the first call.
        sequences: Number of independent sequences, if known before the rows are seen: beam search
            shows each of them several times in a row, and its beams must share one table.
    """

    law: Law
    entropy: tuple[int, int]
    reserve: int = 0
    sequences: int | None = None
    _tables: dict[tuple[int, int, int], Tensor] = field(default_factory=dict)
    _lengths: list[int] | None = None

    def ids(self, ordinary: Tensor, real: Tensor, packed: bool) -> Tensor:
        """Maps ordinary ids, counted from 0, to randomized ones.

        Args:
            ordinary: Ids of shape `[rows, time]`; negative ones belong to padding.
            real: Which tokens are not padding, of the same shape.
            packed: Whether a row may hold several sequences, each counted from 0.

        Returns:
            Ids of shape `[rows, time]`; negative ones are left alone.
        """
        runs = _runs(ordinary) if packed else torch.zeros_like(ordinary)
        lengths = self._lengths_of(ordinary, real, runs)
        out = ordinary.clone()
        rows = ordinary.shape[0]
        repeats = max(1, rows // (self.sequences or rows))
        for row, run, length in _distinct(lengths, runs):
            here = (lengths[row] == length) & (runs[row] == run) & (ordinary[row] >= 0)
            table = self._table(row // repeats, run, length).to(ordinary.device)
            # Padding after the last real token may count on: where it points is of no consequence.
            out[row][here] = table[ordinary[row][here].clamp(max=length - 1)]
        return out

    def _table(self, sequence: int, run: int, length: int) -> Tensor:
        key = (0, 0, length) if self.law.per == "batch" else (sequence, run, length)
        if key not in self._tables:
            if length > self.law.maximum:
                raise UserError(self._too_long(length))
            state = np.random.SeedSequence([*self.entropy, *key[:2]]).generate_state(1, np.uint64)
            self._tables[key] = self.law.table(int(state[0] >> np.uint64(1)), length)
        return self._tables[key]

"""One draw of positions: a function from ordinary position ids to randomized ones.

A draw is only a seed. The table of a sequence of n tokens is sampled when it is asked for, with
exactly n entries: drawing for the padded length and cutting would favour low positions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

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

    def table(self, entropy: tuple[int, ...], length: int) -> np.ndarray:
        """Returns the ids of tokens 0..length−1: ascending, in {0..L−1}."""
        word = np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0]
        seed = int(word >> np.uint64(1))
        if self.chunks is None:
            drawn = sample_positions(seed, length, maximum=self.maximum)
        else:
            drawn = sample_skipwise(seed, length, maximum=self.maximum, chunks=self.chunks)
        return drawn.numpy() - 1


@dataclass
class Draw:
    """The positions of one batch, also while that batch is being continued token by token.

    Args:
        law: The law of the draw.
        entropy: Seed and number of the draw; equal entropy gives equal positions.
        reserve: Positions kept for tokens that will follow the first call.
        sequences: Number of independent sequences, if known before the rows are seen: beam search
            shows each of them several times in a row, and its beams must share one table.
        columns: Number of columns of the prompt, if known: the first call may show only a part of
            it (prefill in chunks), or more than it (candidates of assisted decoding).
    """

    law: Law
    entropy: tuple[int, int]
    reserve: int = 0
    sequences: int | None = None
    columns: int | None = None
    _tables: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict)
    _lengths: dict[int, int] = field(default_factory=dict)

    def ids(self, ordinary: np.ndarray, real: np.ndarray, packed: bool) -> np.ndarray:
        """Maps ordinary ids, counted from 0, to randomized ones.

        Args:
            ordinary: Ids of shape `[rows, time]`; negative ones mark padding and are left alone.
            real: Which tokens are not padding, of the same shape.
            packed: Whether a row may hold several sequences, each counted from 0.

        Returns:
            Ids of the same shape.
        """
        out = ordinary.copy()
        beams = max(1, len(ordinary) // (self.sequences or len(ordinary)))
        for row, ids in enumerate(ordinary):
            runs = list(_runs(ids, real[row])) if packed else [slice(None)]
            unseen = 0 if self.columns is None else self.columns - len(ids)
            for number, run in enumerate(runs):
                length = self._length(row, ids[run][real[row, run]], unseen, len(runs) == 1)
                table = self._table(row // beams, number, length)
                counted = ids[run] >= 0
                # Padding may count past the last real token; where it points is of no consequence.
                out[row, run][counted] = table[np.minimum(ids[run][counted], length - 1)]
        return out

    def _length(self, row: int, real: np.ndarray, unseen: int, alone: bool) -> int:
        """Returns how many positions the sequence has: fixed by the first call, then checked."""
        last = int(real.max(initial=-1))
        if alone and row in self._lengths:
            length = self._lengths[row]
            if last >= length:
                raise UserError(
                    f"This draw covers {length} positions, and token {last + 1} of the sequence "
                    "needs one more; when decoding without generate(), or when continuing a cache, "
                    "say beforehand how many tokens may follow: randomize_positions(..., reserve=)."
                )
            return length
        length = max(last + 1, 1) + unseen + self.reserve
        if length > self.law.maximum:
            kept = f" ({length - self.reserve} tokens and {self.reserve} new ones)"
            kept = kept if self.reserve else ""
            raise UserError(
                f"L={self.law.maximum} is too small for {length} positions{kept}: pass "
                f"maximum={length} or more to randomize_positions."
            )
        if alone:
            self._lengths[row] = length
        return length

    def _table(self, sequence: int, run: int, length: int) -> np.ndarray:
        whose = (0, 0) if self.law.per == "batch" else (sequence, run)
        key = (*whose, length)
        if key not in self._tables:
            self._tables[key] = self.law.table((*self.entropy, *whose), length)
        return self._tables[key]


def _runs(ids: np.ndarray, real: np.ndarray) -> Iterator[slice]:
    """Cuts a row where counting starts anew, as the mask code of transformers does."""
    edges = np.flatnonzero(np.diff(ids) != 1) + 1
    for start, stop in zip([0, *edges], [*edges, len(ids)], strict=True):
        if not real[start:stop].any():
            continue  # padding with ids of its own
        if ids[start] > 0:
            raise UserError(
                f"position_ids jump to {ids[start]}: a model with randomized positions takes "
                "ordinary ids that count 0, 1, 2, … in every sequence, and draws by itself. Leave "
                "position_ids out, or leave randomize_positions out (see PositionsCollator)."
            )
        yield slice(start, stop)

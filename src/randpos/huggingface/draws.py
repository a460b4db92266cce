"""One draw of positions: maps ordinary position ids to randomized ones.

A draw is a seed. The positions of a sequence of n tokens are sampled when they are needed, exactly
n of them: drawing for the padded length and cutting would favour low positions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from randpos.errors import UserError
from randpos.torch.positions import sample_positions, sample_skipwise

Per = Literal["batch", "sequence"]


@dataclass(frozen=True)
class Law:
    """The distribution of the draws of one model.

    Args:
        maximum: L; ids are drawn from {0..L−1}, because Hugging Face counts from 0.
        per: Whether the sequences of a batch share a draw.
        chunks: None for the paper's distribution, else the number of contiguous chunks of PoSE.
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


@dataclass(frozen=True)
class Tokens:
    """The tokens of one forward pass, as positions see them.

    Args:
        ordinary: The ids that the model would use, counted from 0: `[rows, time]`. Negative ids
            mark padding of RoBERTa-type models and are left alone.
        real: Which tokens are not padding, or None if no mask says so.
        before: Number of real tokens of each row that earlier forward passes have cached.
        packed: Whether a row may hold several sequences, each counted from 0.
    """

    ordinary: np.ndarray
    real: np.ndarray | None = None
    before: np.ndarray | int = 0
    packed: bool = False

    def sequences(self, row: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yields the sequences of a row: its columns, and which are real and their ranks."""
        ids = self.ordinary[row]
        real = ids >= 0 if self.real is None else self.real[row] & (ids >= 0)
        for columns in _runs(ids, real) if self.packed else [slice(None)]:
            kept = real[columns]
            if self.real is None:
                yield columns, kept, ids[columns]
            else:  # ordinary ids may count padding
                before = 0 if isinstance(self.before, int) else self.before[row]
                yield columns, kept, before + kept.cumsum() - 1


@dataclass
class Draw:
    """The positions of one batch, also while that batch is continued token by token.

    Args:
        law: The distribution of the draw.
        entropy: Equal entropy gives equal positions.
        reserve: Positions kept for tokens that will follow the first call.
        sequences: Number of independent sequences, if known before the rows are seen: beam search
            shows each of them several times in a row, and its beams share their positions.
        columns: Number of columns of the prompt, if known: the first call may show only a part of
            it (prefill in chunks), or more than it (candidates of assisted decoding).
        spare: Tokens past the end that may be tried: lookup decoding proposes candidates beyond the
            last token and drops them again. They all get the last position.
    """

    law: Law
    entropy: tuple[int, ...]
    reserve: int = 0
    sequences: int | None = None
    columns: int | None = None
    spare: int = 0
    _tables: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict)
    _lengths: dict[int, int] = field(default_factory=dict)
    _beams: int | None = None

    def ids(self, tokens: Tokens, rows: Sequence[int] | None = None) -> np.ndarray:
        """Returns the randomized ids of the tokens; padding gets id 0.

        Args:
            tokens: The tokens.
            rows: For each row the number that it had in the first call; rows of a cache move.
        """
        count, time = tokens.ordinary.shape
        out = np.minimum(tokens.ordinary, 0)
        if self._beams is None:
            self._beams = max(1, count // (self.sequences or count))
        for row, original in enumerate(range(count) if rows is None else rows):
            sequences = list(tokens.sequences(row))
            unseen = 0 if self.columns is None else self.columns - time
            for number, (columns, real, ranks) in enumerate(sequences):
                if not real.any():
                    continue
                last = int(ranks[real].max())
                if len(sequences) > 1:
                    length = self._fitting(last + 1)
                    self._lengths[original] = 0  # several sequences cannot be continued
                else:
                    length = self._length(original, last, unseen)
                table = self._table(original // self._beams, number, length)
                out[row, columns][real] = table[np.minimum(ranks[real], length - 1)]
        return out

    def _length(self, row: int, last: int, unseen: int) -> int:
        """Returns the number of positions of a row: fixed by the first call, then checked."""
        if row not in self._lengths:
            self._lengths[row] = self._fitting(last + 1 + unseen + self.reserve, self.reserve)
        length = self._lengths[row]
        if last >= length + self.spare or length == 0:
            raise UserError(
                f"This draw covers {length} positions, and token {last + 1} of the sequence needs "
                "one more; if you decode without generate(), or continue a cache, pass "
                "randomize_positions(..., reserve=) the number of tokens that may follow; if you "
                "call generate() of an outer model, pass that model to randomize_positions."
            )
        return length

    def _fitting(self, length: int, reserve: int = 0) -> int:
        if length > self.law.maximum:
            kept = f" ({length - reserve} tokens and {reserve} new ones)" if reserve else ""
            raise UserError(
                f"L={self.law.maximum} is too small for {length} positions{kept}: pass "
                f"maximum={length} or more to randomize_positions."
            )
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

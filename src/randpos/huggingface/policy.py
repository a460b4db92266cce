"""Which draw of positions a forward pass belongs to.

- A forward pass without a filled cache: a new draw, in training and in evaluation alike.
- `generate()`: one draw for the whole call, covering the prompt and all new tokens.
- A forward pass with a filled cache: the draw that filled it.
- A forward pass run again during backward (gradient checkpointing): the draw of the first run.
"""

import contextlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from randpos.errors import UserError
from randpos.huggingface.draws import Draw, Law
from randpos.huggingface.generation import filled

_REMEMBERED = 64  # forward passes that may wait for their backward pass at once


@dataclass(eq=False)
class Policy:
    """Hands out draws; draw number i depends on the seed and i alone.

    Args:
        law: The law of the draws.
        seed: Their seed.
        reserve: Positions kept in every draw for tokens that follow it.
        draws: How many there were.
    """

    law: Law
    seed: int
    reserve: int = 0
    draws: int = 0
    generating: Draw | None = None
    _of_cache: WeakKeyDictionary = field(default_factory=WeakKeyDictionary)
    _recent: deque = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def draw_for(self, tokens: Tensor, cache: Any) -> Draw:
        """Returns the draw of a forward pass over the tokens, which may continue a cache."""
        if self.generating is not None:
            return self.generating
        if filled(cache):
            return self.continued(cache)
        key = (tokens.data_ptr(), tokens.shape)
        if torch._C._current_graph_task_id() != -1:  # autograd runs: this is a recomputation
            for known, draw in reversed(self._recent):
                if known == key:
                    return draw
            raise RuntimeError(
                "A checkpointed forward pass is run again, but its draw is no longer known; "
                "use model.gradient_checkpointing_enable(), which does not draw again."
            )
        draw = self._new(self.reserve)
        # Recorded always: checkpointing with use_reentrant=True runs the first pass without grad.
        self._recent.append((key, draw))
        return draw

    def continued(self, cache: Any) -> Draw:
        """Returns the draw that filled a cache."""
        if cache not in self._of_cache:
            raise UserError(
                "This cache was not filled under the present randomize_positions, so the positions "
                "of its keys are unknown; start from an empty cache."
            )
        return self._of_cache[cache]

    def remember(self, cache: Any, draw: Draw) -> None:
        """Notes which draw filled a cache."""
        if filled(cache):
            self._of_cache[cache] = draw

    @contextlib.contextmanager
    def generation(self, prompt: Tensor | None, cache: Any, new: int) -> Iterator[None]:
        """Fixes one draw for all forward passes of a call of `generate`.

        Args:
            prompt: Its ids or embeddings, if it has any.
            cache: The cache that it continues, if any.
            new: How many tokens it may add.
        """
        if self.generating is not None:  # some ways of decoding call generate() again
            yield
            return
        sequences, columns = (1, 1) if prompt is None else prompt.shape[:2]
        if filled(cache):
            self.generating = self.continued(cache)
        else:
            self.generating = self._new(max(self.reserve, new), sequences, columns)
        try:
            yield
        finally:
            self.generating = None

    def _new(self, reserve: int, sequences: int | None = None, columns: int | None = None) -> Draw:
        self.draws += 1
        return Draw(self.law, (self.seed, self.draws - 1), reserve, sequences, columns)

    def __getstate__(self) -> dict[str, Any]:
        """A copy in another process knows nothing of the caches and the backward passes here."""
        forgotten = {"_of_cache", "_recent", "generating"}
        return {key: value for key, value in vars(self).items() if key not in forgotten}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

"""Decides which draw of positions a forward pass uses.

- A forward pass without a filled cache: a new draw. Training and evaluation count their draws
  separately, so that evaluating does not change training.
- `generate()`: one draw for the whole call, covering the prompt and all new tokens.
- A forward pass with a filled cache: the draw that filled it.
- A forward pass run again during backward (gradient checkpointing): the draw of the first run.
- Inside `hold()`: one draw for all of them.
"""

import contextlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor

from randpos.errors import UserError
from randpos.huggingface.caches import Tracked, cached_tokens
from randpos.huggingface.draws import Draw, Law

_REMEMBERED = 64  # forward passes that may wait for their backward pass at once


@dataclass(eq=False)
class Policy:
    """Hands out draws; draw i of training depends on the seed and i only, and so in evaluation.

    Args:
        law: The distribution of the draws.
        seed: Their seed.
        reserve: Positions kept in every draw for tokens that follow it.
        training: Number of draws in training mode so far.
        evaluation: Number of draws in evaluation mode so far.
    """

    law: Law
    seed: int
    reserve: int = 0
    training: int = 0
    evaluation: int = 0
    held: tuple[int, ...] | None = None
    generating: Draw | None = None
    tracked: WeakSet[Tracked] = field(default_factory=WeakSet)
    _recent: deque = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def draw_for(self, tokens: Tensor, cache: Any, training: bool) -> Draw:
        """Returns the draw of a forward pass over the tokens, which may continue a cache."""
        if cached_tokens(cache):
            return self.continued(cache).draw
        if self.generating is not None:
            return self.generating
        key = (tokens.data_ptr(), tokens.shape)
        if torch._C._current_graph_task_id() != -1:  # autograd runs: this is a recomputation
            for known, draw in reversed(self._recent):
                if known == key:
                    return draw
            raise RuntimeError(
                "A checkpointed forward pass is run again, but its draw is no longer known; "
                "use the model's own method (activation_checkpointing_enable(), in older versions "
                "gradient_checkpointing_enable()), which does not draw again."
            )
        draw = Draw(self.law, self.entropy(training), self.reserve)
        # Recorded always: checkpointing with use_reentrant=True runs the first pass without grad.
        self._recent.append((key, draw))
        return draw

    def entropy(self, training: bool) -> tuple[int, ...]:
        """Returns the entropy of the held draw, or else of a new one."""
        if self.held is not None:
            return self.held
        if training:
            self.training += 1
            return (self.seed, 0, self.training - 1)
        self.evaluation += 1
        return (self.seed, 1, self.evaluation - 1)

    def continued(self, cache: Any) -> Tracked:
        """Returns what is known of a filled cache."""
        tracked = getattr(cache, "_randpos", None)
        if tracked is None or tracked.policy is not self:
            raise UserError(
                "This cache was not filled under the present randomize_positions, so the positions "
                "of its keys are unknown; start from an empty cache."
            )
        return tracked

    def track(self, cache: Any, draw: Draw, rows: int) -> None:
        """Notes which draw filled a cache."""
        known = getattr(cache, "_randpos", None)
        if cached_tokens(cache) and (known is None or known.draw is not draw):
            self.tracked.add(Tracked(cache, draw, self, rows))

    @contextlib.contextmanager
    def generation(
        self, prompt: tuple[int, int], cache: Any, new: int, training: bool, spare: int = 0
    ) -> Iterator[None]:
        """Fixes one draw for all forward passes of a call of `generate`.

        Args:
            prompt: Its numbers of sequences and columns.
            cache: The cache that it continues, if any.
            new: How many tokens it may add.
            training: Whether the model is in training mode.
            spare: How many candidates lookup decoding may try past the end.
        """
        if self.generating is not None:  # some ways of decoding call generate() again
            yield
            return
        if cached_tokens(cache):
            self.generating = self.continued(cache).draw
        else:
            reserve = max(self.reserve, new)
            self.generating = Draw(self.law, self.entropy(training), reserve, *prompt, spare)
        try:
            yield
        finally:
            self.generating = None

    @contextlib.contextmanager
    def hold(self, entropy: tuple[int, ...]) -> Iterator[None]:
        """Gives all forward passes inside one entropy."""
        before, self.held = self.held, entropy
        try:
            yield
        finally:
            self.held = before

    def close(self) -> None:
        """Makes all caches of this policy refuse further tokens."""
        for tracked in list(self.tracked):
            tracked.invalidate()

    def __getstate__(self) -> dict[str, Any]:
        """A copy starts without the caches and pending backward passes of the original."""
        dropped = {"tracked", "_recent", "generating", "held"}
        return {key: value for key, value in vars(self).items() if key not in dropped}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

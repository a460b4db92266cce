"""Key-value caches under randomized positions: whose rows they hold, and when they are invalid."""

import contextlib
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from randpos.errors import UserError
from randpos.huggingface.draws import Draw

if TYPE_CHECKING:
    from randpos.huggingface.policy import Policy

_MOVING = ("reorder_cache", "batch_repeat_interleave", "batch_select_indices")


def cached_tokens(cache: Any) -> int:
    """Returns how many tokens a cache holds."""
    return int(cache.get_seq_length()) if hasattr(cache, "get_seq_length") else 0


class Tracked:
    """Follows the rows of a cache, so that each row keeps its own positions.

    It stands in for the cache's methods that move rows, on that one object. It refers to the cache
    weakly: a cycle would keep the keys in memory until the next garbage collection.

    Args:
        cache: The cache, just filled for the first time.
        draw: The draw that filled it.
        policy: What made the draw.
        rows: Number of rows.
    """

    def __init__(self, cache: Any, draw: Draw, policy: "Policy", rows: int) -> None:
        self.draw, self.policy, self.rows = draw, policy, list(range(rows))
        self._cache = weakref.ref(cache)
        cache._randpos = self
        for name in _MOVING:
            if hasattr(type(cache), name):
                setattr(cache, name, getattr(self, name))

    def of(self, rows: int) -> Sequence[int]:
        """Returns the original row of each present row; raises if there are not `rows` of them."""
        if len(self.rows) != rows:
            raise UserError(
                f"This cache holds {len(self.rows)} rows, but {rows} rows of tokens follow; move "
                f"its rows by {', '.join(_MOVING)}, or start from an empty cache."
            )
        return self.rows

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        """Moves rows, as beam search does."""
        self._move("reorder_cache", beam_idx)
        self.rows = [self.rows[i] for i in beam_idx.tolist()]

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeats every row."""
        self._move("batch_repeat_interleave", repeats)
        self.rows = [row for row in self.rows for _ in range(repeats)]

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keeps some rows; indices may be numbers or booleans."""
        self._move("batch_select_indices", indices)
        self.rows = torch.tensor(self.rows)[indices.cpu()].tolist()

    def invalidate(self) -> None:
        """Makes the cache refuse further tokens, which would get ordinary positions."""
        cache = self._cache()
        if cache is not None:
            cache.update = self.update

    def update(self, *args: Any, **kwargs: Any) -> Any:
        """Stands in for `update` of an invalid cache; a cache that was reset is like a new one."""
        cache = self._cache()
        if cached_tokens(cache):
            raise UserError(
                "This cache was filled under randomize_positions, which has been removed; start "
                "from an empty cache."
            )
        for name in (*_MOVING, "update", "_randpos"):
            with contextlib.suppress(AttributeError):
                delattr(cache, name)
        return cache.update(*args, **kwargs)  # type: ignore[union-attr]

    def _move(self, name: str, how: Any) -> None:
        cache = self._cache()
        getattr(type(cache), name)(cache, how)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tracked":
        """Follows the copy of a cache; both go on with the same draw."""
        twin = object.__new__(Tracked)
        memo[id(self)] = twin
        twin.draw, twin.policy, twin.rows = self.draw, self.policy, list(self.rows)
        twin._cache = weakref.ref(memo[id(self._cache())])
        self.policy.tracked.add(twin)
        return twin

    def __reduce__(self) -> Any:
        raise UserError(
            "A cache that was filled under randomize_positions cannot be saved: its positions are "
            "known in this process only; copy it by copy.deepcopy, or fill it anew."
        )

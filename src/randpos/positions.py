"""The paper's idea: give the tokens a random *ordered* subset of a larger range (section 3).

A sequence of T tokens normally stands at positions 1..T, so a longer one meets positions never
seen in training. Here T distinct positions are drawn uniformly from {1..L} with L much larger than
any length, and sorted: every position is met in training, and only the order carries meaning.

This file does not know encodings; an encoding does not know how its positions were drawn.
"""

import abc
import operator

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from randpos.errors import UserError
from randpos.settings import Draw, Reading, check_positions

Length = int | Int[Array, ""]


def sample_positions(
    key: Key[Array, ""],
    length: int,
    *,
    maximum: int = 2048,
    batch: int | None = None,
    sort: bool = True,
) -> Int[Array, "*batch {length}"]:
    """Draws a uniformly random ordered subset of the positions {1..L}.

    Args:
        key: Source of randomness.
        length: How many positions (T, or n in the paper's set I).
        maximum: The largest position L.
        batch: Draw this many sequences independently; by default one draw serves the whole batch.
        sort: Ascending order, which the method needs; without it this is the paper's ablation.

    Returns:
        Distinct positions of shape `[length]`, or `[batch, length]`.

    Example:
        >>> import jax
        >>> sample_positions(jax.random.key(0), 5, maximum=100).tolist()
        [1, 2, 20, 37, 41]
    """
    check_maximum(maximum, length)
    if batch is not None:
        return jax.vmap(lambda k: sample_positions(k, length, maximum=maximum, sort=sort))(
            jax.random.split(key, batch)
        )
    return _subset(key, length, length, maximum, sort)


def _subset(
    key: Key[Array, ""], length: Length, size: int, maximum: int, sort: bool
) -> Int[Array, " {size}"]:
    """Draws `length` positions in a buffer of `size`; the places after them hold L.

    The draw is cut to `length` before it is sorted: sorting `size` draws and keeping the first
    would favour low positions.
    """
    order = 1 + jax.random.permutation(key, maximum)
    order = jnp.pad(order, (0, max(0, size - maximum)))[:size]
    kept = jnp.where(jnp.arange(size) < length, order, maximum + 1)
    return jnp.minimum(jnp.sort(kept) if sort else kept, maximum)


def check_maximum(maximum: int, length: Length, of: str = "a sequence of that length") -> None:
    """Raises `UserError` if L positions cannot serve `length` tokens."""
    try:
        length = operator.index(length)  # type: ignore[arg-type]
    except TypeError:  # a traced length, which the caller has bounded
        return
    if length < 0:
        raise UserError(f"a sequence of length {length} has no positions; pass 0 or more.")
    if maximum < length:
        raise UserError(
            f"L={maximum} is too small for {of}: it needs {length} positions; "
            f"pass --positions.maximum {length} or more."
        )


class Positions(eqx.Module):
    """The positions of a batch's tokens: all that an encoding sees.

    `offsets[q, k]` is how far query q is to the right of key k: negative if it is to the left.
    """

    query: Int[Array, " query"]
    key: Int[Array, " key"]
    offsets: Int[Array, "query key"]
    differences: bool = eqx.field(static=True, default=False)
    """Whether every offset is known to be the query's position minus the key's."""
    largest: int | None = eqx.field(static=True, default=None)
    """A bound on positions and offsets, where the scheme knows one."""

    @classmethod
    def at(cls, index: Int[Array, " time"], largest: int | None = None) -> "Positions":
        """Returns tokens at the given positions, seen from one another."""
        return cls(index, index, index[:, None] - index[None, :], True, largest)

    def rows(self, start: Length, size: int) -> "Positions":
        """Returns the same keys seen from the queries `start` to `start + size` only."""
        return Positions(
            jax.lax.dynamic_slice_in_dim(self.query, start, size),
            self.key,
            jax.lax.dynamic_slice_in_dim(self.offsets, start, size),
            self.differences,
            self.largest,
        )


def cut_positions(
    positions: Positions | tuple[Positions, ...], size: int
) -> Positions | tuple[Positions, ...]:
    """Cuts every axis of positions to the first `size` tokens."""
    return jax.tree.map(lambda x: x[(slice(size),) * x.ndim], positions)


class Scheme(eqx.Module):
    """Assigns positions to tokens."""

    @abc.abstractmethod
    def draw(self, key: Key[Array, ""], length: Length, size: int) -> Positions:
        """Draws positions for a (traced) `length` of tokens inside a buffer of `size`.

        The positions of the tokens do not depend on the size of the buffer.
        """

    def draws(
        self, key: Key[Array, ""], length: Length, size: int, layers: int
    ) -> Positions | tuple[Positions, ...]:
        """Returns the positions that all layers see, or those that each of them sees."""
        return self.draw(key, length, size)

    @property
    @abc.abstractmethod
    def largest(self) -> int | None:
        """The largest position; None if it is the length of the sequence."""


class Ordinal(Scheme):
    """Positions 1..T, in order: what a plain encoding uses."""

    def draw(self, key: Key[Array, ""] | None, length: Length, size: int) -> Positions:
        """Returns 1..size; `key` is not used."""
        return Positions.at(1 + jnp.arange(size), size)

    @property
    def largest(self) -> None:
        """Ordinal positions grow with the sequence."""
        return None


class Randomized(Scheme):
    """A uniformly random subset of {1..L} in ascending order: the paper's method.

    Args:
        maximum: L, the largest position.
        sort: Keep the order of the tokens; False is the ablation of table 3.
        reading: What the offset between two tokens is. `positions`: the difference of their
            sampled positions. `distances`: one sorted draw r_1 < r_2 < … gives the distance r_t of
            all tokens t apart. `released`: as `distances`, but as the released code gathers them
            (see docs/fidelity.md).
        per: A new draw `per_batch`, or `per_layer` of every batch.
    """

    maximum: int = eqx.field(static=True, default=2048)
    sort: bool = eqx.field(static=True, default=True)
    reading: Reading = eqx.field(static=True, default="positions")
    per: Draw = eqx.field(static=True, default="per_batch")

    def __check_init__(self) -> None:
        check_positions(self.maximum, self.reading, self.per)

    def draw(self, key: Key[Array, ""], length: Length, size: int) -> Positions:
        """Draws a subset of {1..L}, and the offsets according to the reading."""
        check_maximum(self.maximum, length)
        if self.reading == "positions":
            drawn = _subset(key, length, size, self.maximum, self.sort)
            return Positions.at(drawn, self.maximum)
        distances = _subset(key, length - 1, size - 1, self.maximum - 1, self.sort)
        distances = jnp.concatenate([jnp.zeros(1, distances.dtype), distances])
        place = jnp.arange(size)
        steps = place[:, None] - place[None, :]
        apart = distances[jnp.abs(steps)]
        if self.reading == "distances":
            offsets = jnp.sign(steps) * apart
        else:
            # A table of L rows read at indices up to 2L - 1 clamps: only keys to the left differ.
            offsets = jnp.where(steps > 0, self.maximum - apart, self.maximum - 1)
        return Positions(1 + distances, 1 + distances, offsets, largest=self.maximum)

    def draws(
        self, key: Key[Array, ""], length: Length, size: int, layers: int
    ) -> Positions | tuple[Positions, ...]:
        """Draws once for all layers, or anew for each."""
        if self.per == "per_batch":
            return super().draws(key, length, size, layers)
        keys = jax.random.split(key, layers)
        return tuple(self.draw(k, length, size) for k in keys)

    @property
    def largest(self) -> int:
        """L."""
        return self.maximum

"""The paper's idea: give the tokens a random *ordered* subset of a larger range (section 3).

A sequence of T tokens normally has the positions 1..T, so a sequence longer than all training
sequences has positions that never occurred in training. Here T distinct positions are drawn
uniformly from {1..L}, with L much larger than any length, and sorted. Every position occurs in
training, and only the order carries meaning.

This file does not depend on encodings, and an encoding does not see how its positions were drawn.
"""

import abc
import dataclasses
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any, SupportsIndex

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Integer, Key

from randpos.errors import UserError
from randpos.settings import Draw, Reading, check_positions

Length = int | Int[Array, ""]
Places = Integer[Array, "..."] | Integer[np.ndarray, "..."] | Sequence[int]
"""Positions as users pass them, of any integer type."""


def int32_positions(values: Any) -> Int[Array, "..."]:
    """Returns positions as int32: sums and differences of smaller types would wrap around.

    Values that are known at run time only are not checked.

    Raises:
        UserError: If the values are no integers, or do not fit into int32.
    """
    values = values if isinstance(values, jax.Array) else np.asarray(values)
    if not values.size:
        return jnp.zeros(values.shape, jnp.int32)
    if not jnp.issubdtype(values.dtype, jnp.integer):
        raise UserError(
            f"positions have the type {values.dtype}; pass integers between -2^31 and 2^31 - 1."
        )
    if not np.can_cast(values.dtype, np.int32) and not isinstance(values, jax.core.Tracer):
        smallest, largest = int(values.min()), int(values.max())
        if not -(2**31) <= smallest <= largest < 2**31:
            raise UserError(
                f"positions run from {smallest} to {largest}, but they are int32; "
                "pass integers between -2^31 and 2^31 - 1."
            )
    return jnp.asarray(values, jnp.int32)


def sample_positions(
    key: Key[Array, ""],
    length: SupportsIndex,
    *,
    maximum: SupportsIndex = 2048,
    batch: int | None = None,
    sort: bool = True,
) -> Int[Array, "*batch {length}"]:
    """Draws a uniformly random ordered subset of the positions {1..L}.

    Args:
        key: Source of randomness.
        length: The number of positions (T, or n in the paper's set I).
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
    length, maximum = operator.index(length), operator.index(maximum)
    check_positions(maximum, "positions", "per_batch")
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
    kept = jnp.where(jnp.arange(size) < length, order, maximum)
    return jnp.sort(kept) if sort else kept


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
    Where examples have positions of their own, all arrays have a leading axis of examples
    (`per_example`). The model then gives an encoding those of one example at a time.
    """

    query: Int[Array, "*example query"] = eqx.field(converter=int32_positions)
    key: Int[Array, "*example key"] = eqx.field(converter=int32_positions)
    offsets: Int[Array, "*example query key"] = eqx.field(converter=int32_positions)
    differences: bool = eqx.field(static=True, default=False)
    """Whether every offset is known to be the query's position minus the key's."""
    largest: int | None = eqx.field(static=True, default=None)
    """A bound on positions and offsets, where the scheme knows one."""
    shared: bool = eqx.field(static=True, default=True)
    """Whether all examples have them, so that what follows from them is computed once."""

    @classmethod
    def at(cls, index: Places, largest: int | None = None) -> "Positions":
        """Returns tokens at the given positions, seen from one another."""
        index = int32_positions(index)
        return cls(index, index, index[:, None] - index[None, :], True, largest)

    def rows(self, start: Length, size: int) -> "Positions":
        """Returns the same keys seen from the queries `start` to `start + size` only."""
        query = jax.lax.dynamic_slice_in_dim(self.query, start, size)
        offsets = jax.lax.dynamic_slice_in_dim(self.offsets, start, size)
        return dataclasses.replace(self, query=query, offsets=offsets)

    def part(self, start: Length, size: int) -> "Positions":
        """Returns the tokens `start` to `start + size`, seen from one another."""
        rows = self.rows(start, size)
        key = jax.lax.dynamic_slice_in_dim(self.key, start, size)
        offsets = jax.lax.dynamic_slice_in_dim(rows.offsets, start, size, axis=1)
        return dataclasses.replace(rows, key=key, offsets=offsets)


def cut_positions(
    positions: Positions | tuple[Positions, ...], size: int
) -> Positions | tuple[Positions, ...]:
    """Cuts every axis of tokens to the first `size`."""
    if per_example(positions):
        return jax.vmap(partial(cut_positions, size=size))(positions)
    return jax.tree.map(lambda x: x[(slice(size),) * x.ndim], positions)


def per_example(positions: Positions | Sequence[Positions]) -> bool:
    """Returns whether every example has positions of its own."""
    return any(leaf.ndim > 1 for leaf in jax.tree.leaves(positions)[:1])


class Scheme(eqx.Module):
    """Assigns positions to tokens."""

    @abc.abstractmethod
    def sample(
        self, key: Key[Array, ""], length: Length | SupportsIndex, size: SupportsIndex
    ) -> Positions:
        """Draws positions for a (traced) `length` of tokens inside a buffer of `size`.

        The positions of the tokens do not depend on the size of the buffer.
        """

    def sample_batch(
        self,
        key: Key[Array, ""],
        length: Length,
        size: int,
        *,
        layers: int,
        examples: int,
        first: Length = 0,
    ) -> Positions | tuple[Positions, ...]:
        """Draws the positions of a batch: one draw for all, or one per layer or example.

        Args:
            key: Source of randomness.
            length: The number of tokens.
            size: The size of the buffer.
            layers: The number of layers of the model.
            examples: The number of examples in the batch.
            first: The number of the first example, where the batch is a part of a larger one.
        """
        if self.frequency == "per_layer":
            keys = jax.random.split(key, layers)
            return tuple(self.sample(k, length, size) for k in keys)
        if self.frequency == "per_example":
            numbers = first + jnp.arange(examples)
            sample = jax.vmap(lambda i: self.sample(jax.random.fold_in(key, i), length, size))
            return dataclasses.replace(sample(numbers), shared=False)
        return self.sample(key, length, size)

    @property
    def frequency(self) -> Draw:
        """How often `sample_batch` draws."""
        return "per_batch"

    @property
    @abc.abstractmethod
    def largest(self) -> int | None:
        """The largest position; None if it is the length of the sequence."""


class Ordinal(Scheme):
    """Positions 1..T, in order: what a plain encoding uses."""

    def sample(
        self, key: Key[Array, ""] | None, length: Length | SupportsIndex, size: SupportsIndex
    ) -> Positions:
        """Returns 1..size; `key` is not used."""
        size = operator.index(size)
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
        draw: How often to draw: once `per_batch`, or within each batch once `per_layer` or
            `per_example`.
        both_sides: Draw the distances to the left and to the right separately; only for the
            reading `distances`.
    """

    maximum: int = eqx.field(static=True, default=2048, converter=operator.index)
    sort: bool = eqx.field(static=True, default=True)
    reading: Reading = eqx.field(static=True, default="positions")
    draw: Draw = eqx.field(static=True, default="per_batch")
    both_sides: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        check_positions(self.maximum, self.reading, self.draw)
        if self.both_sides and self.reading != "distances":
            raise UserError(
                f"both_sides draws distances, but reading={self.reading!r}; pass "
                "reading='distances'."
            )

    def sample(
        self, key: Key[Array, ""], length: Length | SupportsIndex, size: SupportsIndex
    ) -> Positions:
        """Draws a subset of {1..L}, and the offsets according to the reading."""
        size = operator.index(size)
        length = length if isinstance(length, jax.Array) else operator.index(length)
        check_maximum(self.maximum, length)
        if self.reading == "positions":
            drawn = _subset(key, length, size, self.maximum, self.sort)
            return Positions.at(drawn, self.maximum)
        distances = self._distances(key, length, size)
        place = jnp.arange(size)
        steps = place[:, None] - place[None, :]
        apart = distances[jnp.abs(steps)]
        if self.both_sides:
            right = self._distances(jax.random.fold_in(key, 1), length, size)
            offsets = jnp.where(steps > 0, apart, -right[jnp.abs(steps)])
        elif self.reading == "distances":
            offsets = jnp.sign(steps) * apart
        else:
            # A table of L rows read at indices up to 2L - 1 clamps: only keys to the left differ.
            offsets = jnp.where(steps > 0, self.maximum - apart, self.maximum - 1)
        return Positions(1 + distances, 1 + distances, offsets, largest=self.maximum)

    def _distances(self, key: Key[Array, ""], length: Length, size: int) -> Int[Array, " {size}"]:
        """Draws the distance of tokens t apart, for t from 0 on."""
        drawn = _subset(key, length - 1, size - 1, self.maximum - 1, self.sort)
        return jnp.concatenate([jnp.zeros(1, drawn.dtype), drawn])

    @property
    def frequency(self) -> Draw:
        """How often `sample_batch` draws."""
        return self.draw

    @property
    def largest(self) -> int:
        """L."""
        return self.maximum

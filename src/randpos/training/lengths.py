"""Which length a training step has, and the few static sizes that all lengths are padded to."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from randpos.errors import UserError, check_count, quoted, unknown
from randpos.numerics import random_stream

Name = Literal["uniform", "fixed", "regular_increase", "reverse_exponential"]


@dataclass(frozen=True)
class Schedule:
    """How the length of a training step is chosen; all examples of a step share it."""

    name: Name = "uniform"
    """uniform: n ~ U{1..N}, as in the paper. fixed: always N. regular_increase: uniform up to a
    bound that grows from `initial` by `increase` every `every` steps, to N at most.
    reverse_exponential: n in 1..N with probability proportional to `decay`^n."""
    maximum: int = 40
    """N, the longest training length."""
    initial: int = 1
    """First bound of regular_increase."""
    increase: int = 1
    """By how much the bound of regular_increase grows."""
    every: int = 1000
    """After how many steps it grows."""
    decay: float = 0.9
    """Ratio of the probabilities of two neighbouring lengths in reverse_exponential."""
    seed: int = 0
    """Seed of the lengths; members of an ensemble share it."""

    def __post_init__(self) -> None:
        if self.name not in get_args(Name):
            raise unknown("length schedule", self.name, get_args(Name))
        for field in ("maximum", "initial", "increase", "every"):
            check_count(f"lengths.{field}", getattr(self, field), 2**63 - 1)
        if not 0 < self.decay < math.inf:
            raise UserError(f"lengths.decay={self.decay} must be a positive number.")
        if not 0 <= self.seed < 2**32:
            raise UserError(f"lengths.seed={quoted(self.seed)} must lie between 0 and 2^32 - 1.")

    def length(self, step: int | Int[Array, ""]) -> Int[Array, ""]:
        """Returns the length of a step: a function of the seed and the step alone."""
        key = jax.random.fold_in(random_stream("lengths", self.seed), step)
        if self.name == "fixed":
            return jnp.asarray(self.maximum, jnp.int32)
        if self.name == "reverse_exponential":
            log_odds = jnp.arange(1, self.maximum + 1) * jnp.log(self.decay)
            return 1 + jax.random.categorical(key, log_odds).astype(jnp.int32)
        bound = jnp.asarray(self.maximum, jnp.int32)
        if self.name == "regular_increase":
            grown = jnp.asarray(step, jnp.int32) // min(self.every, 2**31 - 1)
            # Each term clipped to N before it is used, so that nothing can overflow.
            initial, increase = min(self.initial, self.maximum), min(self.increase, self.maximum)
            grown = initial + increase * jnp.minimum(grown, self.maximum)
            bound = jnp.minimum(grown, bound)
        return jax.random.randint(key, (), 1, bound + 1)


def buckets(maximum: int, count: int) -> tuple[int, ...]:
    """Returns at most `count` sizes that divide 1..maximum evenly.

    >>> buckets(40, 5)
    (8, 16, 24, 32, 40)
    >>> buckets(3, 5)
    (1, 2, 3)
    """
    count = min(count, maximum)
    return tuple(-(-maximum * (i + 1) // count) for i in range(count))

"""The length of a training step, and the few static sizes that all lengths are padded to."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from randpos.numerics import random_stream
from randpos.settings import Schedule


def step_length(schedule: Schedule, step: int | Int[Array, ""]) -> Int[Array, ""]:
    """Returns the length of a training step, a function of the seed and the step alone."""
    longest = schedule.maximum
    key = jax.random.fold_in(random_stream("lengths", schedule.seed), step)
    if schedule.name == "fixed":
        return jnp.asarray(longest, jnp.int32)
    if schedule.name == "reverse_exponential":
        log_odds = jnp.arange(1, longest + 1) * jnp.log(schedule.decay)
        return 1 + jax.random.categorical(key, log_odds).astype(jnp.int32)
    bound = jnp.asarray(longest, jnp.int32)
    if schedule.name == "regular_increase":
        grown = jnp.asarray(step, jnp.int32) // min(schedule.every, 2**31 - 1)
        # Each term clipped to N before it is used, so that nothing can overflow.
        initial, increase = (min(x, longest) for x in (schedule.initial, schedule.increase))
        grown = initial + increase * jnp.minimum(grown, longest)
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

"""The length of a training step, and the few static sizes that all lengths are padded to."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from randpos.numerics import random_stream
from randpos.settings import Schedule

TOKENS_PER_SIZE = 160_000
"""How many tokens are trained, without padding, in the time that compiling one more size takes."""


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


def bucket_count(schedule: Schedule, steps: int, batch: int) -> int:
    """Returns how many sizes pay for a run of this many steps, from 1 to 10.

    With b sizes, padding adds about 1 / b to the work of the steps, and compiling takes as long as
    about `TOKENS_PER_SIZE` tokens for each. The sum is least at the square root of their ratio
    (docs/performance.md).

    >>> [bucket_count(Schedule(), steps, 32) for steps in (100, 600, 2000, 100_000)]
    [1, 2, 4, 10]
    """
    if schedule.name == "fixed":
        return 1
    tokens = steps * batch * schedule.maximum
    return min(10, max(1, round((tokens / TOKENS_PER_SIZE) ** 0.5)))


def buckets(maximum: int, count: int) -> tuple[int, ...]:
    """Returns at most `count` sizes that divide 1..maximum evenly.

    >>> buckets(40, 5)
    (8, 16, 24, 32, 40)
    >>> buckets(3, 5)
    (1, 2, 3)
    """
    count = min(count, maximum)
    return tuple(-(-maximum * (i + 1) // count) for i in range(count))

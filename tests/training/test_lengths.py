"""The length of a training step: its law, its determinism, and the size that it is padded to."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from randpos import Schedule
from randpos.training.lengths import TOKENS_PER_SIZE, bucket_count, buckets, step_length

N, STEPS = 40, 20_000


def lengths(schedule: Schedule, first: int = 0, count: int = STEPS) -> np.ndarray:
    """The lengths of many steps."""
    return np.asarray(jax.jit(jax.vmap(partial(step_length, schedule)))(first + jnp.arange(count)))


def p_value(found: np.ndarray, law: np.ndarray) -> float:
    """How well counts agree with the probabilities of the lengths 1, 2, …"""
    counts = np.bincount(found, minlength=len(law) + 1)[1:]
    assert len(counts) == len(law), "a length is out of range"
    return float(stats.chisquare(counts, law * len(found)).pvalue)


def test_uniform_lengths_are_uniform():
    assert p_value(lengths(Schedule("uniform", N)), np.full(N, 1 / N)) > 1e-3


@pytest.mark.parametrize("decay", [0.9, 1.1])
def test_reverse_exponential_lengths_decay_by_a_constant_ratio(decay):
    odds = decay ** np.arange(1, N + 1)
    found = lengths(Schedule("reverse_exponential", N, decay=decay))
    assert p_value(found, odds / odds.sum()) > 1e-3


def test_a_fixed_length_is_always_n():
    assert set(lengths(Schedule("fixed", 7), count=100).tolist()) == {7}


@pytest.mark.parametrize(("first", "bound"), [(0, 3), (1000, 5), (2000, 7), (3000, 8)])
def test_a_regular_increase_is_uniform_up_to_a_growing_bound(first, bound):
    schedule = Schedule("regular_increase", 8, initial=3, increase=2, every=1000)
    found = lengths(schedule, first, 1000)
    assert p_value(found, np.full(bound, 1 / bound)) > 1e-3


@pytest.mark.parametrize(
    "sizes", [{"initial": 2**40}, {"every": 2**40}, {"increase": 2**27, "every": 1}]
)
def test_no_size_of_an_increase_overflows(sizes):
    found = lengths(Schedule("regular_increase", N, **sizes), 2**31 - 1000, 1000)
    assert found.min() >= 1
    assert found.max() <= N


@pytest.mark.parametrize("name", ["uniform", "fixed", "regular_increase", "reverse_exponential"])
def test_a_length_is_a_function_of_seed_and_step(name):
    schedule = Schedule(name, N, initial=30, seed=5)
    alone = [int(step_length(schedule, step)) for step in range(3, 6)]
    assert lengths(schedule, 3, 3).tolist() == alone


@pytest.mark.parametrize("name", ["uniform", "regular_increase", "reverse_exponential"])
def test_another_seed_gives_other_lengths(name):
    left, two = (lengths(Schedule(name, N, initial=30, seed=s), count=50) for s in (0, 1))
    assert not np.array_equal(left, two)


@given(st.integers(1, 2_000_000), st.integers(1, 512), st.integers(1, 500))
def test_the_number_of_sizes_is_the_cheapest_there_is(steps, batch, maximum):
    def cost(sizes: int) -> float:
        """Padding and compilation, in tokens."""
        return steps * batch * maximum / sizes + TOKENS_PER_SIZE * sizes

    found = bucket_count(Schedule("uniform", maximum), steps, batch)
    # The cheapest whole number is next to the square root, not always the nearest to it.
    assert cost(found) <= 1.07 * min(map(cost, range(1, 11)))
    assert bucket_count(Schedule("fixed", maximum), steps, batch) == 1


@given(st.integers(1, 600), st.integers(1, 20))
def test_sizes_are_few_rising_and_reach_n(maximum, count):
    sizes = buckets(maximum, count)
    assert len(sizes) == min(count, maximum)
    assert list(sizes) == sorted(set(sizes))
    assert sizes[-1] == maximum


@given(st.integers(1, 600), st.integers(1, 20))
def test_no_length_is_padded_by_more_than_its_share(maximum, count):
    sizes = (0, *buckets(maximum, count))
    assert max(np.diff(sizes)) <= -(-maximum // min(count, maximum))

"""The law of the draws, and what the offsets of each reading are."""

import itertools
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from randpos import Ordinal, Positions, Randomized, sample_positions
from randpos.positions import cut_positions

KEY = jax.random.key(11)
MANY = jax.random.split(KEY, 8000)
# Keys are fixed, so no test flickers; a broken law has a p-value many orders below this.
P_VALUE = 1e-4


def many(scheme: Randomized, length: int, size: int) -> np.ndarray:
    """Draws positions for every key, the length traced."""
    draw = jax.jit(jax.vmap(lambda k, n: scheme.sample(k, n, size).query, in_axes=(0, None)))
    return np.asarray(draw(MANY, length))[:, :length]


def uniform(found: np.ndarray, possible) -> bool:
    """Whether rows are spread evenly over all that are possible, by a chi-square test."""
    counts = Counter(map(tuple, found.tolist()))
    possible = set(possible)
    assert counts.keys() <= possible
    return stats.chisquare([counts[p] for p in possible]).pvalue > P_VALUE


@pytest.mark.parametrize(("length", "size"), [(1, 5), (3, 3), (3, 5), (3, 9)])
def test_every_subset_is_as_likely_in_a_buffer_of_any_size(length, size):
    found = many(Randomized(6), length, size)
    assert uniform(found, itertools.combinations(range(1, 7), length))


def test_without_sorting_every_arrangement_is_as_likely():
    found = many(Randomized(5, sort=False), 3, 4)
    assert uniform(found, itertools.permutations(range(1, 6), 3))


def test_sampled_positions_are_as_likely_in_every_subset():
    found = np.asarray(sample_positions(KEY, 3, maximum=6, batch=len(MANY)))
    assert uniform(found, itertools.combinations(range(1, 7), 3))


def test_sampled_distances_are_an_ordered_subset_of_one_less():
    scheme = Randomized(6, reading="distances")
    draw = jax.jit(jax.vmap(lambda k, n: scheme.sample(k, n, 5).offsets[1:, 0], in_axes=(0, None)))
    found = np.asarray(draw(MANY, 4))[:, :3]
    assert uniform(found, itertools.combinations(range(1, 6), 3))


@pytest.mark.parametrize("draw", ["per_batch", "per_layer", "per_example"])
def test_every_layer_and_example_sees_every_subset_as_often(draw):
    scheme = Randomized(6, draw=draw)

    def last(key):
        drawn = scheme.sample_batch(key, 3, 3, layers=2, examples=2)
        query = (drawn if isinstance(drawn, Positions) else drawn[-1]).query
        return query[-1] if draw == "per_example" else query

    assert uniform(np.asarray(jax.vmap(last)(MANY)), itertools.combinations(range(1, 7), 3))


def test_each_position_and_each_pair_is_included_as_often_as_uniform_subsets_do():
    maximum, length = 20, 6
    found = many(Randomized(maximum), length, 10)
    included = (found[:, :, None] == np.arange(1, 1 + maximum)).any(1).astype(float)
    together = included.T @ included / len(found)
    diagonal = length / maximum
    two = diagonal * (length - 1) / (maximum - 1)
    expected = np.full((maximum, maximum), two)
    np.fill_diagonal(expected, diagonal)
    deviation = np.sqrt(expected * (1 - expected) / len(found))
    assert np.abs((together - expected) / deviation).max() < 4.5


FIFTY = {
    sort: jax.jit(lambda k, n, sort=sort: Randomized(50, sort=sort).sample(k, n, 50).query)
    for sort in (True, False)
}


@settings(max_examples=50)
@given(seed=st.integers(0, 2**31 - 1), length=st.integers(1, 50), sort=st.booleans())
def test_positions_are_distinct_and_in_range_and_in_order(seed, length, sort):
    found = FIFTY[sort](jax.random.key(seed), length)[:length].tolist()
    assert len(set(found)) == length
    assert all(1 <= position <= 50 for position in found)
    assert not sort or found == sorted(found)


@pytest.mark.parametrize("reading", ["positions", "distances", "released"])
@pytest.mark.parametrize("sort", [True, False])
def test_a_draw_does_not_depend_on_the_buffer(reading, sort):
    scheme = Randomized(12, sort, reading)
    alone = scheme.sample(KEY, 4, 4)
    for size in (5, 20):
        inside = scheme.sample(KEY, 4, size)
        np.testing.assert_array_equal(inside.query[:4], alone.query)
        np.testing.assert_array_equal(inside.key[:4], alone.key)
        np.testing.assert_array_equal(inside.offsets[:4, :4], alone.offsets)


def test_a_traced_length_draws_as_a_static_one():
    scheme = Randomized(12)
    traced = jax.jit(lambda k, n: scheme.sample(k, n, 9).query)(KEY, 4)
    np.testing.assert_array_equal(traced, scheme.sample(KEY, 4, 9).query)


def test_a_batch_of_draws_is_made_of_independent_ones():
    rows = np.asarray(sample_positions(KEY, 5, maximum=1000, batch=4))
    assert rows.shape == (4, 5)
    assert len({tuple(row) for row in rows.tolist()}) == 4


def test_all_positions_drawn_are_all_positions():
    assert sample_positions(KEY, 7, maximum=7).tolist() == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("reading", ["positions", "distances", "released"])
def test_one_token_can_be_placed_among_one(reading):
    assert Randomized(1, reading=reading).sample(KEY, 1, 1).offsets.shape == (1, 1)


def test_ordinal_positions_count_from_one():
    drawn = Ordinal().sample(KEY, 3, 4)
    assert drawn.query.tolist() == drawn.key.tolist() == [1, 2, 3, 4]


def test_offsets_are_differences_of_positions():
    drawn = Positions.at(jnp.array([2, 3, 7]))
    assert drawn.offsets.tolist() == [[0, -1, -5], [1, 0, -4], [5, 4, 0]]


def test_distances_are_shared_by_all_tokens_equally_far_apart():
    drawn = Randomized(100, reading="distances").sample(KEY, 4, 4)
    r = [0, *(int(drawn.offsets[j, 0]) for j in (1, 2, 3))]
    assert 0 < r[1] < r[2] < r[3] < 100
    assert drawn.offsets.tolist() == [
        [0, -r[1], -r[2], -r[3]],
        [r[1], 0, -r[1], -r[2]],
        [r[2], r[1], 0, -r[1]],
        [r[3], r[2], r[1], 0],
    ]


def test_four_distances_of_four_are_the_plain_ones():
    drawn = Randomized(4, reading="distances").sample(KEY, 4, 4)
    np.testing.assert_array_equal(drawn.offsets, Ordinal().sample(KEY, 4, 4).offsets)


def test_the_released_code_tells_only_keys_to_the_left_apart():
    drawn = Randomized(4, reading="released").sample(KEY, 4, 4)
    assert drawn.offsets.tolist() == [[3, 3, 3, 3], [3, 3, 3, 3], [2, 3, 3, 3], [1, 2, 3, 3]]


def test_the_released_code_draws_distances():
    released, distances = (
        np.asarray(Randomized(100, reading=reading).sample(KEY, 6, 6).offsets)
        for reading in ("released", "distances")
    )
    left = np.tril(np.ones((6, 6), bool), -1)
    np.testing.assert_array_equal(released[left], 100 - distances[left])
    assert (released[~left] == 99).all()


def test_one_draw_serves_all_layers_of_a_batch():
    assert isinstance(Randomized(100).sample_batch(KEY, 5, 5, layers=3, examples=2), Positions)


def test_layers_that_draw_anew_see_different_positions():
    drawn = Randomized(100, draw="per_layer").sample_batch(KEY, 5, 5, layers=3, examples=2)
    assert isinstance(drawn, tuple)
    assert len({tuple(p.query.tolist()) for p in drawn}) == len(drawn) == 3


def test_rows_are_what_some_queries_see():
    whole = Randomized(100).sample(KEY, 6, 6)
    part = whole.rows(2, 3)
    np.testing.assert_array_equal(part.query, whole.query[2:5])
    np.testing.assert_array_equal(part.key, whole.key)
    np.testing.assert_array_equal(part.offsets, whole.offsets[2:5])


def test_examples_that_draw_anew_stand_at_different_positions_whatever_part_of_a_batch_they_are():
    scheme = Randomized(1000, draw="per_example")
    drawn = scheme.sample_batch(KEY, 5, 6, layers=3, examples=4)
    part = scheme.sample_batch(KEY, 5, 6, layers=3, examples=2, first=2)
    assert isinstance(drawn, Positions)
    assert isinstance(part, Positions)
    assert len({tuple(row) for row in drawn.query.tolist()}) == 4
    for row, offsets in zip(drawn.query, drawn.offsets, strict=True):
        np.testing.assert_array_equal(offsets, Positions.at(row).offsets)
    np.testing.assert_array_equal(part.query, drawn.query[2:])


@pytest.mark.parametrize("draw", ["per_batch", "per_layer", "per_example"])
def test_a_cut_buffer_keeps_the_places_before_the_cut(draw):
    long, alone = (
        Randomized(100, draw=draw).sample_batch(KEY, 4, size, layers=2, examples=3)
        for size in (9, 4)
    )
    jax.tree.map(np.testing.assert_array_equal, cut_positions(long, 4), alone)


def test_the_largest_position_is_known_to_the_scheme():
    assert Randomized(77).largest == 77
    assert Ordinal().largest is None

import jax.numpy as jnp
import numpy as np
import pytest

from randpos import Trace
from randpos.results.inspect.attention import look_at_attention, on_antidiagonal, over_heads
from tests.results.inspect.hand_made import LENGTH, TIME, mirror


def test_a_model_that_copies_reversed_positions_shows_the_antidiagonal() -> None:
    found = look_at_attention(mirror(), LENGTH)
    (matrix,) = found.layers
    mirrored = np.eye(TIME, dtype=bool)[::-1]
    np.testing.assert_allclose(matrix[mirrored], 1.0, atol=1e-5)
    # Elsewhere the larger head is the one that looks at all tokens alike.
    np.testing.assert_allclose(matrix[~mirrored], 1 / TIME, atol=1e-5)
    assert found.first == LENGTH
    assert on_antidiagonal(matrix, found.first) == 1.0


def test_away_from_its_length_the_same_model_misses_the_antidiagonal() -> None:
    found = look_at_attention(mirror(), LENGTH // 2)
    assert found.layers[0].shape == (LENGTH, LENGTH)
    assert on_antidiagonal(found.layers[0], found.first) < 0.5


def test_the_maximum_is_over_heads_and_over_nothing_else() -> None:
    weights = np.random.default_rng(0).random((2, 3, 4, 4)).astype(np.float32)
    nothing = jnp.zeros((2, 4, 1))
    trace = Trace(nothing, (), (jnp.asarray(weights),), nothing)
    (found,) = over_heads(trace)
    for batch, query, key in np.ndindex(2, 4, 4):
        assert found[batch, query, key] == max(
            weights[batch, head, query, key] for head in range(3)
        )


@pytest.mark.parametrize("right", range(5))
def test_answering_rows_on_the_antidiagonal_are_counted(right: int) -> None:
    size, first = 9, 5  # as many inputs as answers is not needed
    matrix = np.full((size, size), 0.1)
    for row in range(first, size):
        hit = row - first < right
        matrix[row, size - 1 - row if hit else row] = 0.9
    assert on_antidiagonal(matrix, first) == min(right, 4) / 4

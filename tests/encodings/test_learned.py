"""A learned table has a row for every position, or says that it has not."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos import Ordinal, Positions, Randomized, Shape, UserError
from randpos.encodings.learned import Learned
from tests.small import KEY

TABLE = Learned(Shape(layers=1, heads=1, dim=4, positions=50), key=KEY)
ZERO = jnp.zeros((1, 3, 4))


def test_the_row_of_a_position_is_added():
    found = TABLE.embed(ZERO, Positions.at(jnp.array([1, 7, 50])))
    np.testing.assert_array_equal(found[0], TABLE.rows[jnp.array([0, 6, 49])])


def test_the_rows_that_are_added_are_learned():
    def total(rows):
        table = eqx.tree_at(lambda t: t.rows, TABLE, rows)
        return table.embed(ZERO, Positions.at(jnp.array([1, 7, 50]))).sum()

    expected = np.zeros((50, 4))
    expected[[0, 6, 49]] = 1
    np.testing.assert_array_equal(jax.grad(total)(TABLE.rows), expected)


@pytest.mark.parametrize("index", [[1, 2, 51], [40, 1000, 2048]])
def test_positions_beyond_the_table_are_refused(index):
    with pytest.raises(UserError, match=f"positions go up to {index[2]}"):
        TABLE.embed(ZERO, Positions.at(jnp.array(index)))


def test_position_zero_is_refused():
    with pytest.raises(UserError, match="no row for positions below 1"):
        TABLE.embed(ZERO, Positions.at(jnp.array([0, 1, 2])))


@pytest.mark.parametrize("scheme", [Randomized(maximum=2048), Ordinal()])
def test_a_scheme_that_reaches_beyond_the_table_is_refused_when_compiled(scheme):
    size = 3 if isinstance(scheme, Randomized) else 51
    embed = lambda key: TABLE.embed(jnp.zeros((1, size, 4)), scheme.sample(key, size, size))  # noqa: E731
    with pytest.raises(UserError, match="rows for 50 positions"):
        jax.jit(embed)(KEY)


@pytest.mark.parametrize("wrong", [0, 51])
def test_a_position_known_at_run_time_only_gives_nan_instead_of_another_row(wrong):
    found = jax.jit(lambda index: TABLE.embed(ZERO, Positions.at(index)))(jnp.array([1, wrong, 50]))
    assert np.isnan(found[0]).any(axis=-1).tolist() == [False, True, False]

"""That the tests check shapes and types at every call of what computes."""

import jax.numpy as jnp
import jaxtyping
import pytest

from randpos.nn.layers import Linear
from randpos.positions import sample_positions
from tests.small import KEY


def test_wrong_types_and_shapes_are_noticed():
    with pytest.raises(jaxtyping.TypeCheckError):
        sample_positions(KEY, "3", maximum=7)  # pyright: ignore[reportArgumentType]
    with pytest.raises(jaxtyping.TypeCheckError):
        Linear(2, 3, bias=True, key=KEY)(jnp.ones(()))

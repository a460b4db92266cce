"""That the tests check shapes and types at every call of what computes."""

from pathlib import Path

import jax.numpy as jnp
import jaxtyping
import pytest

from randpos.nn.layers import Linear
from randpos.positions import sample_positions
from tests.conftest import CHECKED
from tests.small import KEY

SOURCE = Path(__file__).parent.parent / "src" / "randpos"


def test_wrong_types_and_shapes_are_noticed():
    with pytest.raises(jaxtyping.TypeCheckError):
        sample_positions(KEY, "3", maximum=7)  # pyright: ignore[reportArgumentType]
    with pytest.raises(jaxtyping.TypeCheckError):
        Linear(2, 3, bias=True, key=KEY)(jnp.ones(()))


def test_every_module_that_writes_shapes_down_is_checked():
    for path in SOURCE.rglob("*.py"):
        if "from jaxtyping import" in path.read_text():
            name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            assert any(f"{name}.".startswith(f"{checked}.") for checked in CHECKED), name

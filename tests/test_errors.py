"""Bad values raise one sentence that names the field and the way out."""

import re
from typing import Any, cast

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from randpos import (
    Architecture,
    Encoder,
    Ordinal,
    Randomized,
    Shape,
    UserError,
    get_combination,
    get_encoding,
    sample_positions,
)

KEY = jax.random.key(0)


def misfit():
    encoding = get_encoding("none")(Shape(layers=5, heads=8, dim=32), key=KEY)
    return Encoder(4, 2, encoding, Architecture(), key=KEY)


TOKENS = jnp.zeros((3, 4), jnp.int32)
PLACES = Ordinal().sample(None, 4, 4)


def small(name: str = "none", positions: int = 8) -> Encoder:
    sizes = Architecture(layers=2, heads=2, dim=8, hidden=8)
    return Encoder(4, 2, get_encoding(name)(sizes.shape(positions), key=KEY), sizes, key=KEY)


MISTAKES = {
    "L too small for a draw": (
        lambda: Randomized(1024).sample(KEY, 1500, 1500),
        ["L=1024", "1500 positions", "--positions.maximum 1500"],
    ),
    "L too small for a sample": (
        lambda: sample_positions(KEY, 6, maximum=5),
        ["L=5", "6 positions", "--positions.maximum 6"],
    ),
    "L of zero": (lambda: Randomized(0), ["L=0", "between 1 and 2,147,483,647"]),
    "L beyond int32": (lambda: Randomized(2**31), ["L=2147483648", "between 1 and 2,147,483,647"]),
    "L too small for a NumPy length": (
        lambda: Randomized(5).sample(KEY, cast(Any, np.int64(8)), 8),
        ["L=5", "8 positions"],
    ),
    "negative length": (lambda: sample_positions(KEY, -1), ["length -1"]),
    "one draw for two layers": (lambda: small()(TOKENS, (PLACES,)), ["1 draws", "2 layers"]),
    "outputs beyond the end": (
        lambda: small()(TOKENS, PLACES, outputs=(3, 2)),
        ["outputs=(3, 2)", "4 tokens"],
    ),
    "pieces that do not divide": (
        lambda: small()(TOKENS, PLACES, pieces=2),
        ["batch of 3", "pieces=2"],
    ),
    "pieces of uneven masks": (
        lambda: small()(TOKENS, PLACES, mask=jnp.ones((3, 4), bool), pieces=3),
        ["pieces=3", "shared by all sequences"],
    ),
    "more places than learned rows": (
        lambda: small("learned", positions=3)(TOKENS, PLACES),
        ["rows for 3 positions", "go up to 4", "positions=4"],
    ),
    "reading of ordinal positions": (
        lambda: get_combination("relative").scheme(reading="distances"),
        ["reading='distances'", "ordinal", "randomized-relative"],
    ),
    "randomized none": (lambda: get_combination("randomized-none"), ["'randomized-none'", "none"]),
    "odd head": (
        lambda: get_encoding("rope")(Shape(heads=8, dim=24), key=KEY),
        ["rope", "dim=24", "heads=8", "even"],
    ),
    "odd sincos": (
        lambda: get_encoding("sincos")(Shape(heads=3, dim=9), key=KEY),
        ["sincos", "dim=9", "even dim"],
    ),
    "odd relative": (
        lambda: get_encoding("relative")(Shape(heads=3, dim=9), key=KEY),
        ["relative", "dim=9", "even dim"],
    ),
    "unknown encoding": (lambda: get_encoding("rop"), ["encoding 'rop'", "did you mean 'rope'?"]),
    "unknown combination": (
        lambda: get_combination("randomised-rope"),
        ["'randomised-rope'", "did you mean 'randomized-rope'?"],
    ),
    "nothing near": (lambda: get_encoding("zzz"), ["'zzz'", "known: alibi, fire"]),
    "unknown reading": (
        lambda: Randomized(8, reading=cast(Any, "distance")),
        ["reading 'distance'", "did you mean 'distances'?"],
    ),
    "unknown draw": (
        lambda: Randomized(8, draw=cast(Any, "per_layers")),
        ["draw 'per_layers'", "did you mean 'per_layer'?"],
    ),
    "heads that do not divide": (
        lambda: Architecture(heads=7),
        ["heads=7", "dim=64", "multiple of 7"],
    ),
    "no layers": (lambda: Architecture(layers=0), ["layers=0", "at least 1"]),
    "negative hidden": (lambda: Architecture(hidden=-1), ["hidden=-1", "at least 1"]),
    "dropout of one": (lambda: Architecture(dropout=1.0), ["dropout=1.0", "[0, 1)"]),
    "negative dropout": (lambda: Architecture(dropout=-0.1), ["dropout=-0.1", "[0, 1)"]),
    "reading that does not apply": (
        lambda: get_combination("randomized-rope").scheme(reading="distances"),
        ["reading='distances'", "randomized-rope", "pass one of: positions"],
    ),
    "released for ALiBi": (
        lambda: get_combination("randomized-alibi").scheme(reading="released"),
        ["reading='released'", "distances, positions"],
    ),
    "draw that does not apply": (
        lambda: get_combination("randomized-sincos").scheme(draw="per_layer"),
        ["per_layer", "randomized-sincos", "pass per_batch"],
    ),
    "encoding of another size": (misfit, ["dim=32", "dim=64", "architecture.shape(positions)"]),
}


@pytest.fixture
def _as_users_run_it():
    """Without the checks of types that only tests make, which would come first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.usefixtures("_as_users_run_it")
@pytest.mark.parametrize(("mistake", "parts"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_reported_in_a_sentence(mistake, parts):
    with pytest.raises(UserError) as raised:
        mistake()
    message = str(raised.value)
    assert [part for part in parts if part not in message] == []
    assert "\n" not in message
    assert re.search(r"\.$", message)


def test_a_mistake_is_also_a_value_error():
    assert issubclass(UserError, ValueError)

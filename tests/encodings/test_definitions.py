"""Every encoding, inside the whole encoder, against its definition in plain loops."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos import Encoder, Positions, Randomized
from tests.cases import without
from tests.oracles.encodings import ORACLES, encode
from tests.small import (
    BUFFER,
    CLASSES,
    KEY,
    LARGEST,
    NAMES,
    TIME,
    VARIANTS,
    Variant,
    doubles,
    encoder,
    padded,
    tokens,
)


def defined(model: Encoder, tokens, positions, mask) -> np.ndarray:
    """What the oracle says of a batch."""
    layers = [positions] * 2 if isinstance(positions, Positions) else positions
    places = [(np.asarray(p.query), np.asarray(p.offsets)) for p in layers]
    mask = np.broadcast_to(mask, tokens.shape)
    pairs = zip(np.asarray(tokens), mask, strict=True)
    return np.stack([encode(doubles(model), t, places, m) for t, m in pairs])


def test_every_encoding_has_an_oracle():
    missing = [name for name in NAMES if name not in ORACLES]
    assert not missing, "define them in tests/oracles/encodings.py and add them to ORACLES"


# The model hides later tokens, whichever way positions were drawn: one variant per encoding.
CASES = [(variant, False) for variant in VARIANTS]
CASES += [(variant, True) for variant in {variant.name: variant for variant in VARIANTS}.values()]


@pytest.mark.parametrize(
    ("variant", "causal"), CASES, ids=lambda x: ("", "causal")[x] if isinstance(x, bool) else str(x)
)
def test_logits_are_those_of_the_definition(variant: Variant, causal):
    model, positions = encoder(variant.name, causal=causal), variant.place(TIME, BUFFER)
    mask = jnp.arange(BUFFER) < jnp.array([[TIME], [TIME - 2]])
    expected = defined(model, padded(), positions, mask)
    actual = np.where(mask[..., None], model(padded(), positions, mask=mask), np.nan)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True], ids=["", "causal"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "geometric"])
def test_logits_are_multiplied_by_the_logarithm_of_the_number_of_visible_keys(name, causal):
    model = encoder(name, causal=causal, attention_scale="log")
    positions = Randomized(LARGEST).sample(KEY, TIME, BUFFER)
    mask = jnp.arange(BUFFER) < jnp.array([[TIME], [TIME - 2]])
    expected = defined(model, padded(), positions, mask)
    actual = np.where(mask[..., None], model(padded(), positions, mask=mask), np.nan)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_decoder_has_the_causal_form_of_the_definition(name):
    model = encoder(name, causal=True, one_sided=True)
    positions = Randomized(100).sample(KEY, BUFFER, BUFFER)
    expected = defined(model, tokens(BUFFER), positions, True)
    np.testing.assert_allclose(model(tokens(BUFFER), positions), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "none"])
def test_logits_are_those_of_the_definition_at_the_largest_positions_of_the_paper(name):
    model, positions = encoder(name, largest=8192), Positions.at([1, 3, 4000, 8190, 8192])
    expected = defined(model, tokens(TIME), positions, True)
    np.testing.assert_allclose(model(tokens(TIME), positions), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True], ids=["encoder", "causal"])
@pytest.mark.parametrize("name", ["rope", "fire", "geometric"])
def test_a_window_hides_what_is_farther_away(name, causal):
    model = encoder(name, causal=causal, window=3)
    positions = Randomized(LARGEST).sample(KEY, BUFFER, BUFFER)
    expected = defined(model, tokens(BUFFER), positions, True)
    np.testing.assert_allclose(model(tokens(BUFFER), positions), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", without(("none", "learned"), NAMES))
def test_gradients_are_those_of_the_definition(name):
    """Along a random direction of all parameters, against a central difference in float64."""
    rng = np.random.default_rng(1)
    model, positions = encoder(name), Randomized(LARGEST).sample(KEY, BUFFER, BUFFER)
    cotangent = rng.normal(size=(*tokens(BUFFER).shape, CLASSES))

    @eqx.filter_grad
    def gradient(model):
        return jnp.sum(model(tokens(BUFFER), positions) * jnp.asarray(cotangent, jnp.float32))

    def loss(step):
        moved = jax.tree.map(lambda x, d: x + step * d, doubles(model), direction)
        return np.sum(defined(moved, tokens(BUFFER), positions, True) * cotangent)

    arrays = eqx.filter(doubles(model), eqx.is_array)
    direction = jax.tree.map(lambda x: rng.normal(size=x.shape), arrays)
    pairs = jax.tree.map(lambda g, d: np.sum(np.asarray(g) * d), gradient(model), direction)
    slope = (loss(1e-6) - loss(-1e-6)) / 2e-6
    assert sum(jax.tree.leaves(pairs)) == pytest.approx(slope, rel=1e-3)

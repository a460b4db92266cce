"""Padded equals unpadded: what stands in a buffer behind a sequence never matters."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from randpos import Randomized
from tests.small import (
    BUFFER,
    KEY,
    LARGEST,
    NAMES,
    PAD,
    TIME,
    encoder,
    padded,
    prefix,
    tokens,
)

MASK = jnp.arange(BUFFER)[None] < TIME


@pytest.mark.parametrize("name", NAMES)
def test_other_padding_changes_no_bit(name):
    model, positions = encoder(name), Randomized(LARGEST).sample(KEY, TIME, BUFFER)
    first, other = (model(padded(pad=p), positions, mask=MASK)[:, :TIME] for p in (PAD, 0))
    np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize("name", NAMES)
def test_sequences_of_one_batch_may_end_at_different_places(name):
    model, positions = encoder(name), Randomized(LARGEST).sample(KEY, BUFFER, BUFFER)
    lengths = (TIME, BUFFER)
    mask = jnp.arange(BUFFER) < jnp.array(lengths)[:, None]
    together = model(tokens(BUFFER), positions, mask=mask)
    for row, length in enumerate(lengths):
        alone = model(tokens(length), prefix(positions, length))
        np.testing.assert_allclose(together[row, :length], alone[row], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_no_gradient_reaches_padding(name):
    positions = Randomized(LARGEST).sample(KEY, TIME, BUFFER)
    real = np.arange(BUFFER)[None, :, None] < TIME
    weights = np.random.default_rng(0).normal(size=real.shape) * real
    weights = jnp.asarray(weights, jnp.float32)

    @eqx.filter_grad
    def gradient(model):
        return jnp.sum(model(padded(), positions, mask=MASK) * weights)

    rows = np.asarray(gradient(encoder(name)).embedding)
    assert not rows[PAD].any()
    assert rows[np.unique(tokens())].all()


@pytest.mark.parametrize("name", NAMES)
def test_a_sequence_that_is_all_padding_stays_finite(name):
    positions = Randomized(LARGEST).sample(KEY, BUFFER, BUFFER)

    @eqx.filter_grad
    def gradient(model):
        mask = jnp.arange(BUFFER) < jnp.array([[0], [BUFFER]])
        return jnp.sum(model(tokens(BUFFER), positions, mask=mask))

    assert np.isfinite(gradient(encoder(name)).embedding).all()

"""Under the causal flag nothing flows from later tokens to earlier ones."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from randpos import Randomized
from tests.cases import ALIKE, without
from tests.small import (
    BATCH,
    BUFFER,
    KEY,
    LARGEST,
    NAMES,
    TIME,
    encoder,
    prefix,
    tokens,
)

DISTINCT = jnp.broadcast_to(jnp.arange(BUFFER), (BATCH, BUFFER))


@pytest.mark.parametrize("name", without(ALIKE, NAMES))
def test_an_output_has_no_gradient_to_later_tokens(name):
    positions, time = Randomized(LARGEST).sample(KEY, BUFFER, BUFFER), 4
    selected = jnp.asarray(np.eye(BUFFER)[time, None, :, None], jnp.float32)

    @eqx.filter_jit
    @eqx.filter_grad
    def gradient(model):
        return jnp.sum(model(DISTINCT, positions) * selected)

    rows = np.asarray(gradient(encoder(name, causal=True, one_sided=True)).embedding)
    assert not rows[time + 1 :].any()
    assert rows[time].any()


@pytest.mark.parametrize("name", without(ALIKE, NAMES))
def test_without_the_flag_later_tokens_do_matter(name):
    model, positions = encoder(name), Randomized(LARGEST).sample(KEY, BUFFER, BUFFER)
    changed = tokens(BUFFER).at[:, -1].set((tokens(BUFFER)[:, -1] + 1) % BUFFER)
    difference = model(changed, positions) - model(tokens(BUFFER), positions)
    assert np.abs(difference[:, -2]).max() > 1e-6


@pytest.mark.parametrize("name", without(ALIKE, NAMES))
def test_a_prefix_alone_has_the_logits_that_it_has_inside(name):
    model, positions = encoder(name, causal=True), Randomized(LARGEST).sample(KEY, BUFFER, BUFFER)
    inside = model(tokens(BUFFER), positions)[:, :TIME]
    np.testing.assert_allclose(inside, model(tokens(), prefix(positions, TIME)), rtol=0, atol=1e-5)

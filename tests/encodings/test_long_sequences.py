"""1,500 tokens at positions up to 8,192, the longest of the paper, in float32."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos import Randomized
from tests.cases import ALIKE, without
from tests.small import KEY, NAMES, PAD, encoder


@eqx.filter_jit
@eqx.filter_value_and_grad(has_aux=True)
def logits_and_gradients(model, tokens, positions):
    logits = model(tokens, positions)
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - logits[..., 0]), logits


# Geometric attention takes longer than all others together.
@pytest.mark.parametrize("name", without([*ALIKE, "geometric"], NAMES))
def test_logits_and_gradients_are_finite(name):
    model = encoder(name, layers=1, largest=8192)
    tokens = jnp.asarray(np.random.default_rng(0).integers(0, PAD, (1, 1500)))
    positions = Randomized(8192).sample(KEY, 1500, 1500)
    (_, logits), gradients = logits_and_gradients(model, tokens, positions)
    assert np.isfinite(logits).all()
    assert all(np.isfinite(g).all() for g in jax.tree.leaves(gradients))

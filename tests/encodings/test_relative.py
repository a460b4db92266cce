"""Relative has two ways to its logits: a table of W_r R(δ), and waves where that is too large."""

import jax
import jax.numpy as jnp
import pytest

from randpos import Ordinal, Randomized
from randpos.encodings import relative
from randpos.encodings.relative import TABLE_BYTES, Relative, Waves
from randpos.settings import Shape
from tests.encodings import test_definitions as definitions
from tests.small import BATCH, KEY, VARIANTS

WITH_WAVES = [v for v in VARIANTS if v.name == "relative" and v.reading == "positions"]


@pytest.mark.parametrize("causal", [False, True], ids=["encoder", "causal"])
@pytest.mark.parametrize("variant", WITH_WAVES, ids=str)
def test_without_a_table_logits_are_those_of_the_definition(variant, causal, monkeypatch):
    monkeypatch.setattr(relative, "TABLE_BYTES", 0)
    definitions.test_logits_are_those_of_the_definition(variant, causal)


def test_without_a_table_gradients_and_decoders_are_those_of_the_definition(monkeypatch):
    monkeypatch.setattr(relative, "TABLE_BYTES", 0)
    definitions.test_gradients_are_those_of_the_definition("relative")
    definitions.test_a_decoder_has_the_causal_form_of_the_definition("relative")


def test_a_table_is_formed_if_it_is_small_and_all_examples_share_it():
    shape = Shape(dim=64, heads=8, layers=2, positions=2048)
    encoding = Relative(shape, key=KEY)

    def has_table(draw):
        def precompute():
            positions = draw()
            return encoding.precompute(positions, jnp.ones((1, 1, 1, len(positions.key)), bool))

        return not isinstance(jax.eval_shape(precompute), Waves)  # the choice is made in tracing

    longest = int((TABLE_BYTES / 4 / 64) ** 0.5)
    for scheme in (Ordinal(), Randomized(2048)):
        assert has_table(lambda scheme=scheme: scheme.sample(KEY, longest, longest))
        assert not has_table(lambda scheme=scheme: scheme.sample(KEY, longest + 1, longest + 1))
        assert has_table(lambda scheme=scheme: scheme.sample(KEY, 500, 500).rows(3, 5))

    def alone():
        scheme = Randomized(2048, draw="per_example")
        own = scheme.sample_batch(KEY, 9, 9, layers=2, examples=BATCH)
        return jax.tree.map(lambda x: x[0], own)

    assert not has_table(alone)
    assert not has_table(lambda: alone().part(2, 4))
    # Distances are no differences of positions, so they need a table whatever its size.
    distances = Randomized(2048, reading="distances")
    assert has_table(lambda: distances.sample(KEY, longest + 1, longest + 1))

"""What an encoding must not see, and what it must."""

import jax.numpy as jnp
import numpy as np
import pytest

from randpos import ENCODINGS, Ordinal, Positions
from tests.small import BUFFER, KEY, NAMES, encoder, tokens

ORDER = np.array([3, 0, 6, 1, 7, 5, 2, 4])
INDEX = jnp.array([2, 3, 7, 20, 21, 22, 300, 512])
RELATIVE = [name for name, encoding in ENCODINGS.items() if not encoding.additive]
ABSOLUTE = [name for name, encoding in ENCODINGS.items() if encoding.additive]


def logits(name: str, index: jnp.ndarray) -> np.ndarray:
    return np.asarray(encoder(name)(tokens(BUFFER), Positions.at(index)))


@pytest.mark.parametrize("name", RELATIVE)
def test_only_offsets_matter(name):
    shift = 1000
    np.testing.assert_allclose(logits(name, INDEX + shift), logits(name, INDEX), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ABSOLUTE)
def test_positions_themselves_matter_to_what_is_added_to_embeddings(name):
    assert np.abs(logits(name, INDEX + 1) - logits(name, INDEX)).max() > 1e-2


@pytest.mark.parametrize("name", [name for name in NAMES if name != "none"])
def test_offsets_matter_to_every_encoding(name):
    assert np.abs(logits(name, jnp.arange(1, 1 + BUFFER)) - logits(name, INDEX)).max() > 1e-3


def permuted(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Logits of a permuted sequence, and permuted logits of the sequence."""
    model, positions = encoder(name), Ordinal().sample(KEY, BUFFER, BUFFER)
    after = np.asarray(model(tokens(BUFFER)[:, ORDER], positions))
    return after, np.asarray(model(tokens(BUFFER), positions))[:, ORDER]


def test_none_is_permutation_equivariant():
    after, before = permuted("none")
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "none"])
def test_every_other_encoding_sees_the_order(name):
    after, before = permuted(name)
    assert np.abs(after - before).max() > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_tokens_moved_with_their_positions_keep_their_logits(name):
    model = encoder(name)
    moved = model(tokens(BUFFER)[:, ORDER], Positions.at(INDEX[ORDER]))
    np.testing.assert_allclose(moved, logits(name, INDEX)[:, ORDER], rtol=0, atol=1e-5)

"""PyTorch equals JAX, encoding by encoding, with copied weights."""

import copy

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import randpos
from randpos import Positions
from randpos.encodings import ALiBi, Geometric
from randpos.export import export_torch
from randpos.settings import AttentionScale
from randpos.torch import load_encoder, offsets_from_distances, sample_positions
from randpos.torch.loading import ENCODINGS as TWINS
from tests.small import (
    BUFFER,
    ENCODINGS,
    KEY,
    TIME,
    VARIANTS,
    Variant,
    encoder,
    padded,
    tokens,
)

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    """Gives the PyTorch twin of a small JAX encoder, by way of a file."""
    folder = tmp_path_factory.mktemp("exported")

    def make(
        name: str,
        causal: bool = False,
        attention_scale: AttentionScale = "constant",
        window: int = 0,
    ):
        path = folder / f"{name}-{causal}-{attention_scale}-{window}.safetensors"
        model = encoder(name, causal=causal, attention_scale=attention_scale, window=window)
        export_torch(model, path)
        return load_encoder(path)

    return make


def as_torch(array) -> torch.Tensor:
    return torch.from_numpy(np.array(array)).long()


def run(model, ids, positions, mask=None) -> np.ndarray:
    """Calls a twin with the positions of JAX, of all layers."""
    layers = [positions] * 2 if isinstance(positions, Positions) else positions
    with torch.no_grad():
        return model(
            as_torch(ids),
            [as_torch(p.query) for p in layers],
            offsets=[as_torch(p.offsets) for p in layers],
            mask=None if mask is None else torch.from_numpy(np.array(mask)),
        ).numpy()


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v.name in TWINS], ids=str)
def test_logits_are_equal_for_every_combination(variant: Variant, twin):
    positions = variant.place(TIME)
    expected = encoder(variant.name)(tokens(), positions)
    np.testing.assert_allclose(
        run(twin(variant.name), tokens(), positions), expected, atol=TOLERANCE, rtol=0
    )


PADDED = [(name, False) for name in TWINS] + [(name, True) for name in ("relative", "geometric")]


@pytest.mark.parametrize(("name", "causal"), PADDED)
def test_logits_are_equal_with_padding_and_causally(name, causal, twin):
    mask = jnp.arange(BUFFER)[None] < TIME
    positions = randpos.Randomized(2048).sample(KEY, TIME, BUFFER)
    expected = encoder(name, causal=causal)(padded(), positions, mask=mask)[:, :TIME]
    found = run(twin(name, causal), padded(), positions, mask)[:, :TIME]
    np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize(
    ("name", "causal", "real"), [("rope", False, BUFFER), ("rope", True, TIME), ("t5", True, TIME)]
)
def test_logits_are_equal_with_a_logarithmic_scale(name, causal, real, twin):
    mask = None if real == BUFFER else jnp.arange(BUFFER)[None] < real
    positions = randpos.Randomized(2048).sample(KEY, real, BUFFER)
    model = encoder(name, causal=causal, attention_scale="log")
    expected = model(padded(), positions, mask=mask)[:, :real]
    found = run(twin(name, causal, "log"), padded(), positions, mask)[:, :real]
    np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("name", "scale"), [("fire", "log"), ("geometric", "constant")])
def test_logits_are_equal_within_a_window(name, scale, causal, twin):
    positions = randpos.Randomized(2048).sample(KEY, BUFFER, BUFFER)
    model = encoder(name, causal=causal, attention_scale=scale, window=3)
    found = run(twin(name, causal, scale, 3), tokens(BUFFER), positions)
    expected = model(tokens(BUFFER), positions)
    np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("name", TWINS)
def test_a_draw_per_sequence_equals_the_sequences_one_by_one(name, twin):
    model = twin(name)
    ids = as_torch(tokens())
    positions = sample_positions(3, TIME, maximum=200, batch=len(ids))
    with torch.no_grad():
        together = model(ids, positions)
        alone = torch.cat([model(ids[i : i + 1], positions[i]) for i in range(len(ids))])
    torch.testing.assert_close(together, alone, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("name", TWINS)
def test_positions_at_the_far_end_are_as_exact(name, twin):
    index = jnp.asarray([1, 700, 1301, 2047, 2048])
    positions = Positions.at(index)
    expected = encoder(name)(tokens(), positions)
    found = run(twin(name), tokens(), positions)
    np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("name", TWINS)
def test_the_parameters_are_as_many_and_all_of_them_learn(name, twin):
    model = twin(name).train()
    count = sum(x.size for x in jax.tree.leaves(eqx.filter(encoder(name), eqx.is_array)))
    assert sum(p.numel() for p in model.parameters()) == count
    model(as_torch(tokens()), torch.arange(1, TIME + 1)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_encodings_say_whether_they_have_a_twin():
    assert set(TWINS) == {name for name, encoding in ENCODINGS.items() if encoding.pytorch}


def test_an_encoding_without_a_twin_is_not_exported(tmp_path):
    class Own(ALiBi):
        """Inherits from an encoding that has a twin."""

    model = encoder("alibi")
    own = Own(model.encoding.shape, key=KEY)  # pyright: ignore[reportCallIssue]
    model = eqx.tree_at(lambda m: m.encoding, model, own)
    with pytest.raises(randpos.UserError, match="does not exist in PyTorch"):
        export_torch(model, tmp_path / "model.safetensors")


@pytest.mark.parametrize("reading", ["distances", "released"])
def test_offsets_from_distances_are_those_of_jax(reading):
    drawn = randpos.Randomized(50, reading=reading).sample(KEY, 6, 6)
    distances = as_torch(drawn.query)[1:] - 1
    maximum = 50 if reading == "released" else None
    found = offsets_from_distances(distances, released_maximum=maximum)
    assert torch.equal(found, as_torch(drawn.offsets))


def test_an_exported_geometric_model_keeps_its_option(tmp_path):
    encoding = copy.copy(encoder("geometric").encoding)
    object.__setattr__(encoding, "normalise", False)
    model = eqx.tree_at(lambda m: m.encoding, encoder("geometric"), encoding)
    assert isinstance(model.encoding, Geometric)
    assert not model.encoding.normalise
    export_torch(model, tmp_path / "loose.safetensors")
    positions = Positions.at(jnp.arange(1, TIME + 1))
    found = run(load_encoder(tmp_path / "loose.safetensors"), tokens(), positions)
    np.testing.assert_allclose(found, model(tokens(), positions), atol=TOLERANCE, rtol=0)


def test_dropout_acts_in_training_only(twin):
    model, ids = twin("sincos"), as_torch(tokens())
    where = torch.arange(1, TIME + 1)
    assert torch.equal(model(ids, where), model(ids, where))
    model.train()
    assert not torch.equal(model(ids, where), model(ids, where))


def test_a_file_that_randpos_did_not_write_is_refused(tmp_path):
    save_file({"x": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(randpos.UserError, match="was not written by randpos export"):
        load_encoder(tmp_path / "other.safetensors")

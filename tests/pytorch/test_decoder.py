"""An exported decoder generates in PyTorch what it generates in JAX."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from randpos import Architecture, Encoder, Positions, UserError, resolve
from randpos.export import export_torch
from randpos.setup import Setup
from randpos.torch import Decoder, load_encoder, sample_positions
from randpos.training.batch import assemble, draw_batch
from randpos.training.generation import generate
from tests.cases import only
from tests.experiments import random_model, tiny
from tests.pytorch.test_parity import as_torch

LENGTH = 5
compiled = eqx.filter_jit(generate)
CASES = {
    "randomized-rope": {},
    "randomized-learned": {},
    "alibi": {"thinking": 1},
    "t5": {},
    "randomized-kerple": {"window": 4},
    "randomized-fire": {"window": 4},
    "randomized-relative": {"attention_scale": "log"},
    "geometric": {"thinking": 2},
    "rope": {"thinking": 1, "window": 4, "attention_scale": "log"},
}


def exported(name, folder, *, thinking=0, **changes) -> tuple[Setup, Encoder, Decoder]:
    model = Architecture(layers=2, heads=2, dim=8, hidden=12, **changes)
    experiment = tiny(
        task="stack_manipulation",
        encoding=name,
        answers="autoregressive",
        thinking=thinking,
        model=model,
    )
    setup, trained = resolve(experiment), random_model(experiment, seed=2)
    export_torch(trained, folder / "decoder.safetensors", setup.layout)
    twin = load_encoder(folder / "decoder.safetensors")
    assert isinstance(twin, Decoder)
    return setup, trained, twin


QUICK = ("rope", "randomized-fire", "randomized-relative", "geometric")  # with all their options


@pytest.mark.parametrize("name", only(QUICK, CASES))
def test_generated_logits_are_those_of_jax(name, tmp_path):
    setup, model, twin = exported(name, tmp_path, **CASES[name])
    one, other = jax.random.split(jax.random.key(1))
    batch, positions = draw_batch(setup, one, other, LENGTH, 3, LENGTH)
    assert isinstance(positions, Positions)
    prompt = assemble(setup.layout, batch, LENGTH).tokens[:, : setup.layout.prompt_length(LENGTH)]
    answers = batch.outputs.shape[1]
    expected = compiled(model, setup.layout, prompt, positions, jnp.asarray(LENGTH), answers)
    found = twin.generate(
        as_torch(batch.inputs),
        as_torch(positions.query),
        answers,
        offsets=as_torch(positions.offsets),
    )
    np.testing.assert_allclose(found.logits.numpy(), expected, rtol=0, atol=1e-4)
    assert np.array_equal(found.classes.numpy(), np.argmax(expected, axis=-1))


@pytest.mark.parametrize("name", ["randomized-rope", "randomized-learned"])
def test_sequences_with_positions_of_their_own_are_answered_as_if_alone(name, tmp_path):
    twin = exported(name, tmp_path)[2]
    inputs, positions = (
        torch.tensor([[0, 1, 1], [1, 0, 2]]),
        sample_positions(0, 6, maximum=32, batch=2),
    )
    together = twin.generate(inputs, positions, 3)
    alone = [twin.generate(inputs[i : i + 1], positions[i], 3).logits for i in (0, 1)]
    torch.testing.assert_close(together.logits, torch.cat(alone), atol=1e-5, rtol=0)


def test_a_decoder_needs_a_position_for_every_token(tmp_path):
    twin = exported("rope", tmp_path)[2]
    with pytest.raises(UserError, match="the sequence has 6 tokens, but there are 5 positions"):
        twin.generate(torch.zeros(1, 2, dtype=torch.long), torch.arange(1, 6), 4)

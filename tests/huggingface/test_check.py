"""The check must fail on models that are wrong: each of its claims is broken here once."""

import pytest
import torch
from torch import nn

from randpos.errors import UserError
from randpos.huggingface import check, randomize_positions
from tests.huggingface.tiny import fresh, tiny


def failures(model) -> set[str]:
    with pytest.raises(UserError) as caught:
        check(model)
    told = str(caught.value).removeprefix("The check failed: ").removesuffix(".")
    return {one.removeprefix("FAILED ").split(" (")[0] for one in told.split("; ")}


def test_collapsed_attention_is_found():
    """Attention masks that see the token itself only, as packed positions make them."""
    model = fresh("llama")
    for layer in model.model.layers:
        layer.self_attn.forward = _itself_only(layer.self_attn)
    assert "the last token sees the first one" in failures(model)


def _itself_only(attention):
    def forward(hidden_states, **kwargs):
        return attention.o_proj(attention.v_proj(hidden_states).repeat(1, 1, 2)), None

    return forward


def test_positions_that_arrive_nowhere_are_found():
    model = fresh("gpt2")
    nn.init.zeros_(model.transformer.wpe.weight)
    assert failures(model) == {"another draw gives another output"}


def test_a_cache_that_is_forgotten_is_found():
    model = fresh("llama")
    inner = model.model.forward

    def forward(*args, past_key_values=None, **kwargs):
        return inner(*args, **kwargs)

    model.model.forward = forward
    assert "cached equals uncached" in failures(model)


def test_chance_in_the_model_is_found():
    model = fresh("llama")
    model.model.norm.register_forward_hook(lambda _, __, out: out + torch.randn_like(out))
    found = failures(model)
    assert "the same seed gives the same output" in found
    assert "the model is restored bit for bit" in found


def test_the_check_leaves_the_model_as_it_was():
    model = tiny("llama")
    model.train()
    check(model)
    assert model.training
    model.eval()
    with randomize_positions(model), pytest.raises(UserError, match="already"):
        check(model)


def test_double_precision_passes():
    check(fresh("llama").double())

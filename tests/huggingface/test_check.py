"""The check fails on models that are wrong: each of its claims is broken here once."""

import pytest
import torch
import transformers
from torch import nn

from randpos.errors import UserError
from randpos.huggingface import Family, check, randomize_positions
from randpos.huggingface.families import _FAMILIES
from tests.huggingface.tiny import fresh, tiny


def failures(model) -> set[str]:
    with pytest.raises(UserError) as caught:
        check(model)
    listed = str(caught.value).removeprefix("The check failed: ").removesuffix(".")
    return {claim.removeprefix("FAILED ").split(" (")[0] for claim in listed.split("; ")}


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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("initializer", [0.02, 0.3])
def test_half_precision_passes_and_is_restored(dtype, initializer):
    """With weights of 0.02 positions change outputs by less than rounding does in bfloat16."""
    model = fresh("llama", initializer_range=initializer).to(dtype)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert model.model.rotary_emb.inv_freq.dtype == dtype
    check(model)
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before.items())
    assert {tensor.dtype for tensor in (*model.parameters(), *model.buffers())} == {dtype}


@pytest.mark.skipif(
    "ministral3" not in transformers.CONFIG_MAPPING, reason="this transformers has no Ministral 3"
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_family_that_reads_positions_elsewhere_fails(dtype, monkeypatch):
    """Ministral 3 also scales its attention by the position, from 16,384 on."""
    monkeypatch.setitem(_FAMILIES, "ministral3", Family("ministral3", "rotary_emb"))
    found = failures(fresh("ministral3", initializer_range=0.02).to(dtype))
    assert "it equals explicit ids with a full mask" in found


def test_a_cache_is_compared_also_where_the_config_turns_it_off():
    model = fresh("llama")
    model.config.use_cache = False
    assert "cached equals uncached" in [finding.claim for finding in check(model)]
    assert "it keeps no cache" in [finding.claim for finding in check(tiny("bert"))]


def test_padding_that_is_attended_to_is_found():
    model = fresh("llama")
    inner = model.model.forward

    def forward(*args, attention_mask=None, **kwargs):
        return inner(*args, **kwargs)

    model.model.forward = forward
    found = failures(model)
    assert "a row padded on the left equals the row alone" in found
    assert "a row padded on the right equals the row alone" not in found  # causal

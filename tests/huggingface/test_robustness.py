"""Forward passes that are recorded, interrupted, compiled or shaped in unusual ways."""

import warnings
from types import SimpleNamespace

import pytest
import torch
import transformers
from torch import nn
from transformers import GenerationConfig

from randpos.errors import UserError
from randpos.huggingface import randomize_positions
from tests.huggingface.tiny import PAD, fresh, tiny, tokens, watched


class Logits(nn.Module):
    """A model that returns a tensor, as tracers like it."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(ids, use_cache=False).logits


def record_by_trace(model, ids):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(model, ids, check_trace=False)


def record_by_export(model, ids):
    torch.export.export(model, (ids,), strict=False)


def record_by_vmap(model, ids):
    torch.vmap(lambda row: model(row[None]))(ids)


@pytest.mark.parametrize(
    ("record", "what"),
    [
        (record_by_trace, "torch.jit.trace"),
        (record_by_export, "torch.export"),
        (record_by_vmap, "torch.vmap"),
    ],
)
def test_a_recorded_draw_is_refused(record, what):
    model = Logits(fresh("llama"))
    with randomize_positions(model, maximum=100):
        with pytest.raises(UserError, match=rf"{what} would record one draw.*position_ids"):
            record(model, tokens(2, 5))
        model(tokens(2, 5))  # goes on afterwards


def test_the_way_out_of_recording_works():
    """An exported model with explicit ids gives what the hooks give."""

    class Explicit(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, ids, position_ids, mask):
            return self.model(
                ids, position_ids=position_ids, attention_mask=mask, use_cache=False
            ).logits

    model, ids = fresh("llama"), tokens(2, 5)
    with randomize_positions(model, maximum=100, seed=0) as change, watched(change) as seen:
        expected = model(ids).logits
    given = (ids, seen[0].expand(2, -1).contiguous(), torch.ones_like(ids))
    exported = torch.export.export(Explicit(model), given, strict=False).module()
    torch.testing.assert_close(exported(*given), expected, rtol=0, atol=1e-5)


def test_an_interrupt_leaves_a_usable_model():
    """PyTorch calls no hooks for KeyboardInterrupt, which is not an Exception."""
    model = fresh("llama")

    def interrupt(*_):
        raise KeyboardInterrupt

    with randomize_positions(model, maximum=100, seed=0) as change:
        expected = model(tokens(1, 4)).logits
        for module in (model.model.layers[0], change.site.consumer, model.model.embed_tokens):
            handle = module.register_forward_pre_hook(interrupt)
            with pytest.raises(KeyboardInterrupt):
                model(tokens(1, 4))
            handle.remove()
        again = model(tokens(1, 4)).logits
        assert again.shape == expected.shape


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_hooks_leave_the_compiled_code_of_other_models_alone(name):
    model, other, ids = fresh(name), fresh(name), tokens(2, 8)
    graphs = SimpleNamespace(count=0)

    def backend(graph, inputs):
        graphs.count += 1
        return graph.forward

    compiled = torch.compile(other, backend=backend)
    compiled(ids, use_cache=False)
    before = graphs.count
    assert before > 0
    with randomize_positions(model, maximum=100, seed=0):
        model(ids)
        compiled(ids, use_cache=False)
    compiled(ids, use_cache=False)
    assert graphs.count == before


def test_a_positional_generation_config_is_seen():
    model, config = (
        tiny("llama"),
        GenerationConfig(max_new_tokens=30, do_sample=False, pad_token_id=1),
    )
    with randomize_positions(model, maximum=35):
        assert model.generate(tokens(1, 5), config).shape == (1, 35)


@pytest.mark.parametrize("per", ["batch", "sequence"])
def test_assisted_decoding_with_two_randomized_models(per):
    model, prompt = fresh("llama"), tokens(1, 6)
    helper = fresh("llama", num_hidden_layers=1)
    settings = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None}
    with randomize_positions(model, maximum=200, per=per, seed=0):
        alone = model.generate(prompt, **settings)
    with (
        randomize_positions(model, maximum=200, per=per, seed=0) as change,
        randomize_positions(helper, maximum=100, per=per, seed=1) as other,
    ):
        assisted = model.generate(prompt, assistant_model=helper, **settings)
        assert (change.draws, other.draws) == (1, 1)
        with pytest.raises(UserError, match="tokenizer of its own"):
            model.generate(prompt, assistant_model=helper, assistant_tokenizer="any", **settings)
        assert helper.generate(prompt, **settings).shape == (1, 18)
    assert torch.equal(assisted, alone)


@pytest.mark.parametrize("per", ["batch", "sequence"])
def test_choices_are_rows_of_their_own(per):
    """GPT-2 with two heads takes tokens of shape [batch, choices, time]."""
    config = tiny("gpt2").config
    torch.manual_seed(0)
    model = transformers.GPT2DoubleHeadsModel(config).eval()
    ids = tokens(6, 7).reshape(2, 3, 7)
    mask = torch.ones_like(ids)
    mask[1, 2, 4:] = 0
    change = randomize_positions(model, maximum=100, per=per, seed=0)
    with change, watched(change) as seen:
        for given in ({}, {"attention_mask": mask}):
            model(ids, mc_token_ids=torch.zeros(2, 3, dtype=torch.long), **given)
    assert len({tuple(row.tolist()) for row in seen[0]}) == (1 if per == "batch" else 6)
    assert seen[1].shape == (6, 7)
    assert (seen[1][5, 4:] == 0).all()
    assert (seen[1][:5].diff(dim=-1) > 0).all()


def test_large_maxima_cost_nothing():
    """A permutation of 2^40 positions for every row could not be formed."""
    model, ids = tiny("llama"), tokens(4, 6)
    ids[1, :2] = PAD
    with (
        randomize_positions(model, maximum=2**40, per="sequence", seed=0) as change,
        watched(change) as seen,
    ):
        model(ids, attention_mask=(ids != PAD).long())
    assert seen[0].max() > 2**36

"""PEFT: adapters around the position table, LoRA, and prompts of virtual tokens."""

import pytest
import torch

from randpos.errors import UserError
from randpos.huggingface import check, randomize_positions, resize_position_table
from tests.huggingface.tiny import TABLE, fresh, tokens, watched

peft = pytest.importorskip("peft", reason="PEFT is not installed: adapters are NOT tested")

AROUND_TABLE = {
    "modules_to_save": {"target_modules": ["c_attn"], "modules_to_save": ["wpe"]},
    "target": {"target_modules": ["wpe"]},
}


def adapted(name, **settings):
    """A model with a LoRA adapter that changes its output."""
    config = peft.LoraConfig(task_type="CAUSAL_LM", r=2, init_lora_weights=False, **settings)
    return peft.get_peft_model(fresh(name), config).eval()


@pytest.mark.filterwarnings("ignore:fan_in_fan_out is set:UserWarning")
@pytest.mark.parametrize("settings", AROUND_TABLE.values(), ids=AROUND_TABLE.keys())
def test_an_adapter_around_the_position_table(settings):
    model, ids = adapted("gpt2", **settings), tokens(2, 7)
    with pytest.raises(UserError, match=f"maximum={TABLE}, or grow the table"):
        randomize_positions(model, maximum=TABLE + 1)
    with pytest.raises(UserError, match="before the adapter is added"):
        resize_position_table(model, TABLE + 1)
    change = randomize_positions(model, maximum=TABLE, seed=0, per="sequence")
    seen = []
    table = change.site.consumer
    handle = table.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    with change:
        drawn = model(ids).logits
    handle.remove()
    mask = torch.ones_like(ids)
    explicit = model(ids, position_ids=seen[0], attention_mask=mask).logits
    torch.testing.assert_close(drawn, explicit, rtol=0, atol=1e-5)
    assert (seen[0].diff(dim=-1) > 0).all()
    check(model)


def test_lora_equals_explicit_positions_and_generates():
    model = adapted("llama", target_modules=["q_proj", "v_proj"])
    check(model)
    prompt = tokens(2, 5)
    with randomize_positions(model, maximum=100, seed=0) as change:
        out = model.generate(input_ids=prompt, max_new_tokens=4, do_sample=False, eos_token_id=None)
        assert change.draws == 1
    assert out.shape == (2, 9)


def test_a_disabled_adapter_is_scored_at_the_same_positions():
    """The reference of DPO with LoRA is the same model without its adapter."""
    model, ids = adapted("llama", target_modules=["q_proj"]), tokens(2, 6)
    with randomize_positions(model, maximum=300, seed=0) as change, watched(change) as seen:
        with change.hold(), model.disable_adapter():
            model(ids)
        with change.hold():
            model(ids)
            with model.disable_adapter():
                model(ids)
    assert torch.equal(seen[1], seen[2])
    assert not torch.equal(seen[0], seen[1])


@pytest.mark.filterwarnings("ignore:Position ids are not supported:UserWarning")
@pytest.mark.parametrize("per", ["batch", "sequence"])
def test_prompt_tuning_generates_at_the_positions_of_its_virtual_tokens(per):
    config = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    model = peft.get_peft_model(fresh("llama"), config).eval()
    prompt = tokens(2, 5)
    # 4 virtual tokens, 5 of the prompt and 6 new ones fit exactly, so the draw is 0, 1, 2, …
    with (
        randomize_positions(model, maximum=15, per=per, seed=0) as change,
        watched(change) as seen,
    ):
        out = model.generate(
            input_ids=prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=6,
            do_sample=False, eos_token_id=None,
        )  # fmt: skip
    assert out.shape == (2, 11)
    assert torch.cat([s[0] for s in seen]).tolist() == list(range(14))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_prefix_tuning_is_refused():
    """Its prefix is a cache, whose keys have no positions."""
    config = peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    model = peft.get_peft_model(fresh("llama"), config).eval()
    with (
        randomize_positions(model, maximum=100),
        pytest.raises(UserError, match="positions of its keys are unknown"),
    ):
        model(tokens(1, 5))

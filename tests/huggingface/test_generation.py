"""`generate()`: one draw for prompt and new tokens, whatever the way of decoding."""

import itertools

import pytest
import torch
from transformers import GenerationConfig, StaticCache

from randpos.errors import UserError
from randpos.huggingface import randomize_positions
from randpos.huggingface.draws import Per
from tests.huggingface.tiny import PAD, TABLE, fresh, tiny, tokens, watched

WAYS = {
    "greedy": {"do_sample": False},
    "sampling": {"do_sample": True, "top_k": 5},
    "beams": {"num_beams": 3, "do_sample": False},
    "sampled beams": {"num_beams": 3, "do_sample": True},
    "several returned": {"num_beams": 3, "num_return_sequences": 2, "do_sample": False},
    "several sampled": {"do_sample": True, "num_return_sequences": 3},
}


def left_padded() -> torch.Tensor:
    prompt = tokens(3, 7)
    prompt[1, :3] = PAD
    prompt[2, :1] = PAD
    return prompt


def generate(model, prompt, *, seed=1, per: Per = "sequence", new=8, maximum=100, **kwargs):
    torch.manual_seed(7)
    with randomize_positions(model, maximum=maximum, per=per, seed=seed):
        return model.generate(
            prompt,
            attention_mask=(prompt != PAD).long(),
            max_new_tokens=new,
            eos_token_id=None,
            **kwargs,
        )


CACHED = [("llama", way, per) for way in WAYS for per in ("batch", "sequence")]
CACHED += [(name, "beams", "sequence") for name in ("gpt2", "opt", "gemma3_text")]


@pytest.mark.parametrize(("name", "way", "per"), CACHED)
def test_the_cache_changes_nothing(name, way, per):
    """Without a cache every step recomputes all rows, so beams may not carry tables of others."""
    results = [
        generate(tiny(name), left_padded(), per=per, use_cache=cached, **WAYS[way])
        for cached in (True, False)
    ]
    assert torch.equal(*results)


def test_greedy_decoding_equals_explicit_positions_step_by_step():
    """The oracle knows nothing of hooks: full mask, explicit ids, whole sequences, no cache."""
    model, prompt = tiny("llama"), tokens(2, 5)
    with randomize_positions(model, maximum=100, per="sequence", seed=2) as change:
        with watched(change) as seen:
            out = model.generate(
                prompt, max_new_tokens=6, do_sample=False, use_cache=False, eos_token_id=None,
                attention_mask=torch.ones_like(prompt),
            )  # fmt: skip
        assert change.draws == 1
    positions = seen[-1]
    assert positions.shape == (2, 10)
    for step in seen:
        assert torch.equal(step, positions[:, : step.shape[1]])
    sequence = prompt
    for _ in range(6):
        length = sequence.shape[1]
        logits = model(
            sequence, position_ids=positions[:, :length], attention_mask=torch.ones_like(sequence)
        ).logits
        sequence = torch.cat([sequence, logits[:, -1:].argmax(-1)], dim=1)
        if length < 10:
            continue
        break
    assert torch.equal(out, sequence)


def test_one_draw_covers_prompt_and_new_tokens():
    """A prompt of 5 with 7 new tokens at L = 12 leaves the identity as the only draw."""
    model, prompt = tiny("llama"), tokens(1, 5)
    with randomize_positions(model, maximum=12, seed=0) as change, watched(change) as seen:
        model.generate(prompt, max_new_tokens=7, do_sample=False, eos_token_id=None)
    assert torch.cat([ids[0] for ids in seen]).tolist() == list(range(11))
    with pytest.raises(UserError, match=r"L=12 .* 13 positions \(5 tokens and 8 new ones\)"):
        generate(model, prompt, new=8, maximum=12)


def test_another_call_is_another_draw_and_a_seed_repeats_it():
    model, prompt = tiny("llama"), tokens(1, 5)
    calls = []
    for _ in range(2):
        with randomize_positions(model, maximum=500, seed=0) as change, watched(change) as seen:
            for _ in range(2):
                model.generate(prompt, max_new_tokens=2, do_sample=False, eos_token_id=None)
        calls.append([ids.tolist() for ids in seen])
    assert calls[0] == calls[1]
    assert calls[0][0] != calls[0][2]


@pytest.mark.filterwarnings("ignore:Using the model-agnostic default:UserWarning")
@pytest.mark.parametrize(
    ("arguments", "new"),
    [
        ({"max_new_tokens": 3}, 3),
        ({"max_length": 9}, 4),
        ({"generation_config": GenerationConfig(max_new_tokens=6)}, 6),
        ({"generation_config": GenerationConfig(max_length=7)}, 2),
        ({}, 20),
    ],
)
def test_the_draw_is_as_long_as_transformers_will_generate(arguments, new):
    """At L = prompt + new the draw fits exactly; with one position less it must not."""
    model, prompt = tiny("llama"), tokens(1, 5)
    model.generation_config.eos_token_id = None
    try:
        with randomize_positions(model, maximum=5 + new) as change, watched(change) as seen:
            out = model.generate(prompt, do_sample=False, **arguments)
        assert out.shape[1] == 5 + new
        assert int(seen[-1].max()) == 5 + new - 2
        with (
            randomize_positions(model, maximum=4 + new),
            pytest.raises(UserError, match="too small"),
        ):
            model.generate(prompt, do_sample=False, **arguments)
    finally:
        model.generation_config.eos_token_id = 2


def test_the_length_may_come_from_the_model_itself():
    model = fresh("llama")
    model.generation_config.max_new_tokens = 4
    model.generation_config.eos_token_id = None
    with randomize_positions(model, maximum=9):
        assert model.generate(tokens(1, 5), do_sample=False).shape == (1, 9)


def test_generating_from_embeddings():
    model, prompt = tiny("llama"), tokens(2, 5)
    by_ids = generate(model, prompt, do_sample=False)
    embeddings = model.get_input_embeddings()(prompt)
    with randomize_positions(model, maximum=100, per="sequence", seed=1):
        by_embeddings = model.generate(
            inputs_embeds=embeddings, attention_mask=torch.ones_like(prompt), max_new_tokens=8,
            do_sample=False, eos_token_id=None,
        )  # fmt: skip
    assert torch.equal(by_ids[:, 5:], by_embeddings)


def test_a_static_cache_gives_the_same_tokens():
    model = tiny("llama")
    expected = generate(model, left_padded(), do_sample=False)
    cache = StaticCache(config=model.config, max_cache_len=16)
    found = generate(model, left_padded(), do_sample=False, past_key_values=cache)
    assert torch.equal(expected, found)
    implied = generate(model, left_padded(), do_sample=False, cache_implementation="static")
    assert torch.equal(expected, implied)


@pytest.mark.parametrize("prompt", [tokens(2, 9), left_padded()], ids=["full", "padded"])
def test_prefill_in_chunks_keeps_the_draw(prompt):
    expected = generate(tiny("llama"), prompt, do_sample=False)
    chunked = generate(tiny("llama"), prompt, do_sample=False, prefill_chunk_size=4)
    assert torch.equal(chunked, expected)


def test_lookup_decoding_keeps_the_draw():
    """It asks for several candidates at once and takes some of them back."""
    prompt = tokens(1, 4).repeat(1, 3)
    expected = generate(tiny("llama"), prompt, do_sample=False)
    lookup = generate(tiny("llama"), prompt, do_sample=False, prompt_lookup_num_tokens=3)
    assert torch.equal(lookup, expected)


def test_a_second_turn_continues_the_draw_of_its_cache():
    model, prompt = tiny("llama"), tokens(1, 5)

    def turn(prompt, cache=None):
        out = model.generate(
            prompt, max_new_tokens=3, do_sample=False, eos_token_id=None, past_key_values=cache,
            attention_mask=torch.ones_like(prompt), return_dict_in_generate=True,
        )  # fmt: skip
        return out.sequences, out.past_key_values

    with randomize_positions(model, maximum=100, seed=0, reserve=20) as change:
        first, cache = turn(prompt)
        second, _ = turn(torch.cat([first, tokens(1, 2)], dim=1), cache)
        assert change.draws == 1
        with watched(change) as seen:
            turn(torch.cat([second, tokens(1, 2)], dim=1), cache)
    again = randomize_positions(model, maximum=100, seed=0, reserve=20)
    with again, watched(again) as whole:
        turn(prompt)
    assert seen[0].min() > whole[-1].max()
    with randomize_positions(model, maximum=100, seed=0):
        first, cache = turn(prompt)
        with pytest.raises(UserError, match="reserve"):
            turn(torch.cat([first, tokens(1, 2)], dim=1), cache)


def test_a_learned_table_is_never_left():
    """Ordinary numbering would run past the table here; randomized positions cannot."""
    model = fresh("gpt2")
    with randomize_positions(model, maximum=TABLE, seed=0) as change, watched(change) as seen:
        model.generate(tokens(1, TABLE - 10), max_new_tokens=10, do_sample=False, eos_token_id=None)
    assert max(int(ids.max()) for ids in seen) < TABLE


def test_padding_on_the_right_of_a_prompt_is_refused():
    prompt = left_padded().flip(-1)
    with pytest.raises(UserError, match="pad prompts on the left"):
        generate(tiny("llama"), prompt)


def test_continuous_batching_is_refused_and_comes_back():
    model = tiny("llama")
    with randomize_positions(model):
        with pytest.raises(UserError, match="Continuous batching"):
            model.generate_batch([[3, 4]])
        with pytest.raises(UserError, match="Continuous batching"):
            model.generate(tokens(1, 3), cache_implementation="paged")
    assert "generate" not in vars(model)
    assert "generate_batch" not in vars(model)


def test_prompts_of_a_batch_have_draws_of_their_own_and_beams_share_them():
    model, prompt = tiny("llama"), tokens(2, 5)
    change = randomize_positions(model, maximum=1000, per="sequence", seed=0)
    with change, watched(change) as seen:
        model.generate(
            prompt, num_beams=3, max_new_tokens=4, do_sample=False, eos_token_id=None,
            attention_mask=torch.ones_like(prompt),
        )  # fmt: skip
    for ids in seen:
        assert ids.shape[0] == 6
        for left, other in itertools.combinations(range(6), 2):
            assert torch.equal(ids[left], ids[other]) == (left // 3 == other // 3)

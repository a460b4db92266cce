"""Every family: hooks equal explicit positions with a full mask, and change nothing else."""

import pytest
import torch

from randpos.huggingface import check, randomize_positions
from tests.huggingface.tiny import ENCODERS, KNOWN, PAD, TABLE, tiny, tokens, watched

DECODERS = [name for name in KNOWN if name not in ENCODERS]
CACHING = [name for name in DECODERS if name != "openai-gpt"]
# For whole generations: those that differ in code (tables, offsets, sliding windows, experts,
# hybrid layers). `check` compares caches and padding of all families.
GENERATING = ["llama", "gemma3_text", "gpt2", "opt", "mixtral", "qwen3_next"]
# Without a mask these take a jump in the positions for the start of a packed sequence.
COLLAPSING = [
    "llama", "gemma2", "gpt2", "gpt_neox", "cohere",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "per"),
    [*((name, "batch") for name in [*GENERATING, "bert", "roberta"]), ("llama", "sequence")],
)
def test_hooks_equal_explicit_positions_with_a_full_mask(name, per):
    model, ids = tiny(name), tokens(3, 11)
    plain = model(ids).logits
    with (
        randomize_positions(model, maximum=100, per=per, seed=5) as change,
        watched(change) as seen,
    ):
        drawn = model(ids).logits
        first = change.family.first(change.site.consumer)
    positions = seen[0].expand(3, 11)
    assert (positions.diff(dim=-1) > 0).all()
    assert positions.min() >= 0
    assert positions.max() < 100
    assert (positions[0] == positions[1]).all() == (per == "batch")
    mask = torch.ones_like(ids)
    explicit = model(ids, position_ids=positions + first, attention_mask=mask).logits
    torch.testing.assert_close(drawn, explicit, rtol=0, atol=1e-5)
    assert (drawn - plain).abs().max() > 1e-2
    assert torch.equal(model(ids).logits, plain)


@pytest.mark.parametrize("name", COLLAPSING)
def test_explicit_positions_without_a_mask_collapse_and_hooks_do_not(name):
    """The pitfall, kept as a test: should transformers mend it, the documentation must follow."""
    model, ids = tiny(name), tokens(1, 8)
    other = ids.clone()
    other[0, 0] = (ids[0, 0] - 2) % 37 + 3
    positions = torch.tensor([[1, 5, 9, 20, 31, 40, 77, 90]])

    def last(ids, **kwargs):
        return model(ids, use_cache=False, **kwargs).logits[0, -1]

    assert torch.equal(last(ids, position_ids=positions), last(other, position_ids=positions))
    with randomize_positions(model, maximum=100, seed=0):
        left = last(ids)
    with randomize_positions(model, maximum=100, seed=0):
        assert not torch.equal(left, last(other))


@pytest.mark.parametrize("name", KNOWN)
def test_check_agrees_on_every_family(name):
    claims = [finding.claim for finding in check(tiny(name))]
    assert ("cached equals uncached" in claims) == (name in CACHING)


@pytest.mark.parametrize("name", GENERATING)
def test_cached_decoding_equals_uncached(name):
    model, ids = tiny(name), tokens(2, 6)
    out = []
    for cached in (True, False):
        with randomize_positions(model, maximum=100, per="sequence", seed=1) as change:
            result = model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=3, use_cache=cached,
                do_sample=False, eos_token_id=None, output_logits=True,
                return_dict_in_generate=True,
            )  # fmt: skip
            assert change.draws == 1
        out.append(result)
    assert torch.equal(out[0].sequences, out[1].sequences)
    torch.testing.assert_close(out[0].logits, out[1].logits, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["llama", "gpt2", "opt", "roberta", "bert", "lfm2", "qwen3_next"])
def test_a_row_padded_on_the_right_equals_the_row_alone(name):
    model, row = tiny(name), tokens(1, 5)
    padded = torch.full((2, 12), PAD)
    padded[0], padded[1, :5] = tokens(1, 12, seed=1)[0], row[0]
    mask = (padded != PAD).long()
    with randomize_positions(model, maximum=60, seed=3):
        alone = model(row, attention_mask=torch.ones_like(row)).logits
    with randomize_positions(model, maximum=60, seed=3):
        together = model(padded, attention_mask=mask).logits[1:, :5]
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", GENERATING)
def test_a_prompt_padded_on_the_left_continues_like_the_prompt_alone(name):
    model, row = tiny(name), tokens(1, 4)
    padded = torch.full((2, 9), PAD)
    padded[0], padded[1, 5:] = tokens(1, 9, seed=1)[0], row[0]

    def generate(prompt):
        with randomize_positions(model, maximum=60, seed=3):
            return model.generate(
                prompt, attention_mask=(prompt != PAD).long(), max_new_tokens=4, do_sample=False,
                output_logits=True, return_dict_in_generate=True, eos_token_id=None,
            )  # fmt: skip

    alone, together = generate(row), generate(padded)
    assert torch.equal(alone.sequences[0, 4:], together.sequences[1, 9:])
    for left, other in zip(alone.logits, together.logits, strict=True):
        torch.testing.assert_close(other[1], left[0], rtol=0, atol=1e-4)


def test_roberta_counts_from_padding_idx_plus_one_and_leaves_padding_alone():
    model = tiny("roberta")
    ids = torch.cat([tokens(1, 4), torch.full((1, 3), PAD)], dim=1)
    maximum = TABLE - PAD - 1
    with randomize_positions(model, maximum=maximum, seed=0) as change, watched(change) as seen:
        model(ids, attention_mask=(ids != PAD).long())
    assert (seen[0][0, 4:] == -1).all()  # that is the row padding_idx of the table
    assert (seen[0][0, :4] >= 0).all()

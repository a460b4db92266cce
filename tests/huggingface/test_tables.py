"""Learned position tables end somewhere: that is checked, and can be moved."""

import pytest
import torch

from randpos.errors import UserError
from randpos.huggingface import check, randomize_positions, resize_position_table
from tests.huggingface.tiny import PAD, TABLE, fresh, tiny, tokens, watched

# Positions that the table of the tiny model holds: RoBERTa numbers from padding_idx + 1 = 2.
CAPACITY = {"gpt2": TABLE, "bert": TABLE, "distilbert": TABLE, "opt": TABLE,
            "biogpt": TABLE, "roberta": TABLE - PAD - 1, "mpnet": TABLE - PAD - 1}  # fmt: skip


@pytest.mark.parametrize("name", CAPACITY)
def test_a_maximum_past_the_table_is_refused_with_two_ways_out(name):
    capacity = CAPACITY[name]
    with pytest.raises(UserError, match=rf"maximum={capacity}, .*resize_position_table"):
        randomize_positions(tiny(name), maximum=capacity + 1)
    change = randomize_positions(tiny(name), maximum=capacity, seed=0)
    with change, watched(change) as seen:
        tiny(name)(tokens(1, capacity))
    assert seen[0][0].tolist() == list(range(capacity))  # the last row of the table is reached


@pytest.mark.parametrize("name", CAPACITY)
def test_a_resized_table_keeps_old_rows_and_holds_new_positions(name, tmp_path):
    model, ids = fresh(name), tokens(2, 9)
    plain = model(ids).logits
    resize_position_table(model, 300)
    assert torch.equal(model(ids).logits, plain)
    longer = model(tokens(1, 300)).logits
    check(model, maximum=300)
    model.save_pretrained(tmp_path)
    again = type(model).from_pretrained(tmp_path).eval()
    assert torch.equal(again(tokens(1, 300)).logits, longer)
    with randomize_positions(again, maximum=300):
        again(ids)
    with pytest.raises(UserError, match="300 learned positions"):
        randomize_positions(model, maximum=301)


def test_new_rows_look_like_old_ones_and_learn():
    model = fresh("gpt2")
    old = model.transformer.wpe.weight.detach()
    resize_position_table(model, 2000)
    weight = model.transformer.wpe.weight
    assert torch.equal(weight[:TABLE], old)
    assert 0.9 < float(weight.detach()[TABLE:].std() / old.std()) < 1.1
    with randomize_positions(model, maximum=2000, seed=0) as change, watched(change) as seen:
        model(tokens(1, 9)).logits.sum().backward()
    touched = weight.grad.abs().sum(-1).nonzero().ravel()
    assert torch.equal(touched, seen[0][0])


def test_what_cannot_be_resized_says_so():
    with pytest.raises(UserError, match=r"131.*load the model with max_position_embeddings=131"):
        randomize_positions(tiny("xglm"), maximum=TABLE + 1)
    with pytest.raises(UserError, match="no learned position table"):
        resize_position_table(tiny("llama"), 100)
    with pytest.raises(UserError, match="would cut the table"):
        resize_position_table(tiny("gpt2"), 10)
    with pytest.raises(UserError, match=r"also sizes .*bias"):
        resize_position_table(tiny("gpt_neo"), 300)

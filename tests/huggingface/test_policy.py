"""When there is a new draw, when there is not, and what a draw is."""

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn
from torch.utils.checkpoint import checkpoint

from randpos.errors import UserError
from randpos.huggingface import randomize_positions, restore_positions
from randpos.huggingface.draws import Draw, Law, Tokens
from tests.huggingface.tiny import PAD, fresh, tiny, tokens, watched


@pytest.mark.parametrize("training", [True, False])
def test_every_forward_pass_draws_anew(training):
    model = fresh("llama").train(training)
    with randomize_positions(model, maximum=500, seed=0) as change, watched(change) as seen:
        for _ in range(3):
            model(tokens(2, 8))
    assert len({tuple(ids[0].tolist()) for ids in seen}) == 3


def test_a_seed_decides_and_the_global_generator_gives_one_by_default():
    model = tiny("llama")

    def outputs(seed):
        with randomize_positions(model, maximum=100, seed=seed):
            return torch.stack([model(tokens(2, 8)).logits for _ in range(3)])

    assert torch.equal(outputs(4), outputs(4))
    assert not torch.equal(outputs(4), outputs(5))
    torch.manual_seed(9)
    first, second = outputs(None), outputs(None)
    torch.manual_seed(9)
    assert torch.equal(first, outputs(None))
    assert not torch.equal(first, second)


def test_draws_do_not_disturb_the_global_generator():
    model = tiny("llama")
    torch.manual_seed(1)
    undisturbed = torch.rand(3)
    torch.manual_seed(1)
    with randomize_positions(model, maximum=100, seed=0):
        model(tokens(2, 8))
    assert torch.equal(torch.rand(3), undisturbed)


def test_two_models_at_once_share_nothing():
    left, two = fresh("llama"), fresh("gpt2")
    with randomize_positions(left, maximum=100, seed=0):
        alone = [left(tokens(1, 6)).logits for _ in range(2)]
    with (
        randomize_positions(left, maximum=100, seed=0),
        randomize_positions(two, maximum=50, seed=0),
    ):
        first = left(tokens(1, 6)).logits
        two(tokens(2, 9))
        two.generate(tokens(1, 4), max_new_tokens=3)
        second = left(tokens(1, 6)).logits
    assert torch.equal(first, alone[0])
    assert torch.equal(second, alone[1])


def test_a_copy_of_a_randomized_model_is_independent_and_can_be_restored():
    model = fresh("llama")
    plain = model(tokens(1, 6)).logits
    change = randomize_positions(model, maximum=100, seed=0)
    twin = copy.deepcopy(model)
    assert torch.equal(twin(tokens(1, 6)).logits, model(tokens(1, 6)).logits)
    restore_positions(twin)
    assert torch.equal(twin(tokens(1, 6)).logits, plain)
    assert not torch.equal(model(tokens(1, 6)).logits, plain)
    assert change.draws == 2
    change.remove()
    change.remove()
    with pytest.raises(UserError, match="nothing to restore"):
        restore_positions(model)


def test_a_wrapped_model_is_found():
    model = fresh("llama")
    with randomize_positions(nn.Sequential(model), maximum=100, seed=0):
        wrapped = model(tokens(1, 6)).logits
    with randomize_positions(model, maximum=100, seed=0):
        assert torch.equal(model(tokens(1, 6)).logits, wrapped)


def test_a_randomized_model_survives_pickling():
    model = fresh("llama")
    with randomize_positions(model, maximum=100, seed=0):
        model(tokens(1, 6))
        twin = pickle.loads(pickle.dumps(model))
        assert torch.equal(twin(tokens(1, 6)).logits, model(tokens(1, 6)).logits)


def test_leaving_restores_everything_also_after_an_error():
    model = fresh("llama")
    before = {key: id(value) for key, value in vars(model).items()}
    with pytest.raises(UserError, match="too small"), randomize_positions(model, maximum=4):
        model(tokens(1, 6))
    assert {key: id(value) for key, value in vars(model).items()} == before
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in model.modules())
    with randomize_positions(model, maximum=8):
        model(tokens(1, 6))


def gradients(model, forward):
    model.zero_grad()
    forward().backward()
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_gradient_checkpointing_sees_the_same_draw(whole, reentrant):
    model, ids = fresh("llama").train(), tokens(2, 8)
    with randomize_positions(model, maximum=100, seed=0, per="sequence"):
        expected = gradients(model, lambda: model(ids).logits.sum() ** 2)
    with randomize_positions(model, maximum=100, seed=0, per="sequence") as change:
        if whole:
            embeddings = model.get_input_embeddings()(ids).detach().requires_grad_()

            def forward():
                # A second draw lies between the forward pass and its repetition.
                run = lambda e: model(inputs_embeds=e, use_cache=False).logits.sum() ** 2  # noqa: E731
                out = checkpoint(run, embeddings, use_reentrant=reentrant)
                model(tokens(2, 8, seed=1))
                return out

            found = gradients(model, forward)
            expected = expected[1:]  # the embedding is not part of what was checkpointed
            found = found if len(found) == len(expected) else found[1:]
        else:
            enable = getattr(model, "activation_checkpointing_enable", None)  # from 5.2x on
            (enable or model.gradient_checkpointing_enable)({"use_reentrant": reentrant})
            found = gradients(model, lambda: model(ids, use_cache=False).logits.sum() ** 2)
        assert change.draws == 1 + whole
    assert len(found) == len(expected)
    for left, other in zip(found, expected, strict=True):
        torch.testing.assert_close(left, other, rtol=1e-4, atol=1e-5)


def test_decoding_by_hand_keeps_the_draw_of_the_cache():
    model, ids = tiny("llama"), tokens(2, 8)
    with randomize_positions(model, maximum=100, seed=0, reserve=4, per="sequence"):
        whole = model(ids[:, :4])
        steps = [whole.logits]
        for j in range(4, 8):
            model(tokens(2, 5))  # something else in between
            step = model(ids[:, j : j + 1], past_key_values=whole.past_key_values)
            steps.append(step.logits)
        with pytest.raises(UserError, match="reserve"):
            model(ids[:, :1], past_key_values=whole.past_key_values)
    with randomize_positions(model, maximum=100, seed=0, per="sequence"):
        at_once = model(ids).logits
    torch.testing.assert_close(torch.cat(steps, dim=1), at_once, rtol=0, atol=1e-4)


def test_a_cache_from_elsewhere_is_refused():
    model = tiny("llama")
    cache = model(tokens(1, 4)).past_key_values
    with randomize_positions(model, maximum=100), pytest.raises(UserError, match="cache"):
        model(tokens(1, 1), past_key_values=cache)


def test_packed_sequences_are_drawn_one_by_one():
    model = tiny("llama")
    lengths = [3, 5, 4]
    packed = torch.cat([torch.arange(n) for n in lengths])[None]
    ids = tokens(1, 12)
    with randomize_positions(model, maximum=100, seed=0) as change, watched(change) as seen:
        together = model(ids, position_ids=packed, use_cache=False).logits
    start = 0
    for n in lengths:
        part = seen[0][0, start : start + n]
        assert (part.diff() > 0).all()
        with randomize_positions(model, maximum=100, seed=0):
            alone = model(ids[:, start : start + n]).logits
        torch.testing.assert_close(together[:, start : start + n], alone, rtol=0, atol=1e-4)
        start += n


def test_position_ids_that_are_random_already_are_refused():
    with (
        randomize_positions(tiny("llama"), maximum=100),
        pytest.raises(UserError, match="jump to 7"),
    ):
        tiny("llama")(tokens(1, 3), position_ids=torch.tensor([[7, 9, 20]]))


def test_two_threads_are_noticed():
    model = tiny("llama")
    with randomize_positions(model, maximum=100) as change:
        handle = change.site.consumer.register_forward_hook(lambda *_: model(tokens(1, 3)))
        with pytest.raises(RuntimeError, match="overlap"):
            model(tokens(1, 3))
        handle.remove()


@pytest.mark.parametrize("per", ["batch", "sequence"])
def test_a_short_row_of_a_long_batch_has_the_law_of_its_own_length(per):
    """Cutting the draw of the longest row would favour low positions."""
    counts = Counter()
    real = np.array([[True] * 6, [True] * 2 + [False] * 4])
    ordinary = np.tile(np.arange(6), (2, 1))
    for number in range(1500):
        drawn = Draw(Law(6, per), (0, number)).ids(Tokens(ordinary, real, packed=True))
        counts[tuple(drawn[1, :2].tolist())] += 1
        assert drawn[0].tolist() == list(range(6))
    assert len(counts) == 15
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


@pytest.mark.parametrize("per", ["batch", "sequence"])
def test_skipwise_positions_are_a_further_law(per):
    model = tiny("llama")
    with (
        randomize_positions(model, maximum=1000, seed=0, chunks=3, per=per) as change,
        watched(change) as seen,
    ):
        for _ in range(20):
            model(tokens(2, 12))
    for ids in seen:
        steps = ids.diff(dim=-1)
        assert (steps >= 1).all()
        assert ((steps > 1).sum(dim=-1) <= 2).all()
    assert sum(int((ids.diff(dim=-1) > 1).sum()) for ids in seen) > 20


def test_padding_on_the_left_without_position_ids_keeps_order_among_real_tokens():
    model = tiny("llama")
    ids = torch.cat([torch.full((1, 3), PAD), tokens(1, 5)], dim=1)
    with randomize_positions(model, maximum=40, seed=0) as change, watched(change) as seen:
        model(ids, attention_mask=(ids != PAD).long())
    assert (seen[0][0, 3:].diff() > 0).all()

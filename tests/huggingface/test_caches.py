"""Caches: rows keep their positions wherever they move, and unknown caches are refused."""

import copy
import gc
import pickle
import weakref

import pytest
import torch
from transformers import StaticCache

from randpos.errors import UserError
from randpos.huggingface import randomize_positions
from tests.huggingface.tiny import PAD, fresh, tiny, tokens, watched


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def prefill(model, ids, **kwargs):
    return model(ids, attention_mask=(ids != PAD).long(), **kwargs).past_key_values


def step(model, ids, cache):
    """One further column; the rows of the prompt had their padding on the left."""
    return model(ids[:, -1:], attention_mask=(ids != PAD).long(), past_key_values=cache).logits


def rows() -> torch.Tensor:
    """Three rows of different lengths, padded on the left."""
    ids = tokens(3, 7)
    ids[1, :3] = PAD
    ids[2, :1] = PAD
    return ids


@pytest.mark.parametrize("per", ["batch", "sequence"])
@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_a_mask_as_long_as_a_static_cache_changes_nothing(name, per):
    model, ids = tiny(name), tokens(2, 8)
    plain = model(ids[:, :6]).logits
    long = torch.zeros(2, 20, dtype=torch.long)
    runs = []
    for mask in (long, None):
        cache = StaticCache(config=model.config, max_cache_len=20)
        change = randomize_positions(model, maximum=130, per=per, seed=1, reserve=2)
        with change, watched(change) as seen:
            for start, stop in ((0, 6), (6, 7), (7, 8)):
                long[:, :stop] = 1
                out = model(ids[:, start:stop], attention_mask=mask, past_key_values=cache).logits
                runs.append(out)
        long[:] = 0
    for first, other in zip(runs[:3], runs[3:], strict=True):
        torch.testing.assert_close(first, other, rtol=0, atol=1e-5)
    assert (runs[0] - plain).abs().max() > 1e-2
    positions = torch.cat([s.expand(2, -1) for s in seen], dim=1)
    assert (positions.diff(dim=-1) > 0).all()


def test_a_mask_that_is_too_short_is_refused():
    model = tiny("llama")
    with randomize_positions(model, maximum=100, reserve=3):
        cache = prefill(model, tokens(1, 5))
        with pytest.raises(UserError, match="1 columns, but 5 tokens are cached and 1 follow"):
            model(tokens(1, 1), attention_mask=torch.ones(1, 1), past_key_values=cache)


@pytest.mark.parametrize("per", ["batch", "sequence"])
@pytest.mark.parametrize(
    ("move", "order"),
    [
        (lambda cache: cache.reorder_cache(torch.tensor([2, 0, 1])), [2, 0, 1]),
        (lambda cache: cache.batch_repeat_interleave(2), [0, 0, 1, 1, 2, 2]),
        (lambda cache: cache.batch_select_indices(torch.tensor([1, 2])), [1, 2]),
        (lambda cache: cache.batch_select_indices(torch.tensor([True, False, True])), [0, 2]),
    ],
    ids=["reorder", "repeat", "select", "boolean"],
)
def test_rows_keep_their_positions_when_they_move(move, order, per):
    """Moving rows and then adding a token equals adding the token and then moving rows."""
    model, ids = tiny("llama"), rows()
    longer = torch.cat([ids, tokens(3, 1, seed=5)], dim=1)

    def run(moved: bool):
        with randomize_positions(model, maximum=300, per=per, seed=0, reserve=1):
            cache = prefill(model, ids)
            if not moved:
                return step(model, longer, cache)
            move(cache)
            return step(model, longer[order], cache)

    torch.testing.assert_close(run(True), run(False)[order], rtol=0, atol=1e-5)


def test_rows_that_moved_unseen_are_refused():
    model = tiny("llama")
    with randomize_positions(model, maximum=100, reserve=3):
        cache = prefill(model, tokens(2, 5))
        for layer in cache.layers:
            layer.batch_repeat_interleave(2)
        with pytest.raises(UserError, match="holds 2 rows, but 4 rows"):
            step(model, tokens(4, 6), cache)


@pytest.mark.parametrize("per", ["batch", "sequence"])
def test_beams_of_an_outer_model_keep_their_positions(per):
    """Only the inner model is randomized, so `generate` of the outer one is not wrapped."""
    model, prompt = fresh("llama"), rows()
    beams = {"num_beams": 3, "max_new_tokens": 5, "do_sample": False, "eos_token_id": None}
    with randomize_positions(model.model, maximum=1000, per=per, reserve=5) as change:
        with watched(change) as seen:
            model.generate(prompt, attention_mask=(prompt != PAD).long(), **beams)
        largest = seen[0].max(dim=-1).values.sort().values
        for ids in seen[1:]:  # a row may only have moved, never gone backwards
            now = ids[:, 0].sort().values
            assert (now > largest[: len(now)]).all()
            largest = now
    with (
        randomize_positions(model.model, maximum=1000, per=per),
        pytest.raises(UserError, match="outer model, pass that model to randomize_positions"),
    ):
        model.generate(prompt, attention_mask=(prompt != PAD).long(), **beams)


def test_a_copied_cache_goes_on_by_itself():
    model, ids = tiny("llama"), rows()
    longer = torch.cat([ids, tokens(3, 1, seed=5)], dim=1)
    with randomize_positions(model, maximum=300, per="sequence", seed=0, reserve=1):
        cache = prefill(model, ids)
        twin = copy.deepcopy(cache)
        twin.reorder_cache(torch.tensor([2, 1, 0]))
        expected = step(model, longer, cache)
        found = step(model, longer[[2, 1, 0]], twin)
    torch.testing.assert_close(found, expected[[2, 1, 0]], rtol=0, atol=1e-5)


def test_a_cache_ends_with_the_change_that_filled_it():
    model = tiny("llama")
    with randomize_positions(model, maximum=100, reserve=5):
        cache, static = prefill(model, tokens(1, 4)), StaticCache(model.config, max_cache_len=9)
        model(tokens(1, 4), past_key_values=static)
        twin = copy.deepcopy(cache)
        with pytest.raises(UserError, match="cannot be saved"):
            pickle.dumps(cache)
    for stale in (cache, twin, static):
        with pytest.raises(UserError, match="which has been removed"):
            model(tokens(1, 1), past_key_values=stale)
    static.reset()
    model(tokens(1, 4), past_key_values=static)
    with (
        randomize_positions(model, maximum=100, reserve=5),
        pytest.raises(UserError, match="not filled under the present"),
    ):
        model(tokens(1, 1), past_key_values=cache)


def test_a_cache_is_freed_without_a_garbage_collection():
    model = tiny("llama")
    gc.disable()
    try:
        with randomize_positions(model, maximum=100):
            cache = weakref.ref(prefill(model, tokens(1, 4)))
            assert cache() is None
    finally:
        gc.enable()


def test_a_packed_row_cannot_be_continued():
    model = tiny("llama")
    packed = torch.tensor([[0, 1, 2, 0, 1]])
    with randomize_positions(model, maximum=100, reserve=5):
        cache = model(tokens(1, 5), position_ids=packed).past_key_values
        with pytest.raises(UserError, match="covers 0 positions"):
            model(tokens(1, 1), past_key_values=cache)

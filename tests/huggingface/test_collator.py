"""Explicit `position_ids`: the law, the mask that makes them safe, and processes that load data."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from transformers import default_data_collator

from randpos.errors import UserError
from randpos.huggingface import PositionsCollator, randomize_positions
from tests.huggingface.tiny import PAD, TABLE, fresh, tiny, tokens


def rows(count: int, length: int) -> list[dict]:
    return [{"input_ids": row.tolist()} for row in tokens(count, length)]


def padded(features, side: str) -> dict:
    width = max(len(feature["input_ids"]) for feature in features)
    ids = torch.full((len(features), width), PAD)
    for row, feature in zip(ids, features, strict=True):
        n = len(feature["input_ids"])
        row[slice(None, n) if side == "right" else slice(width - n, None)] = torch.tensor(
            feature["input_ids"]
        )
    return {"input_ids": ids, "attention_mask": (ids != PAD).long()}


def without_dropout(model):
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


@pytest.mark.parametrize("per", ["batch", "sequence"])
def test_a_batch_gets_ascending_positions_and_a_full_mask(per):
    collator = PositionsCollator(default_data_collator, tiny("llama"), maximum=50, per=per, seed=1)
    batch = collator(rows(3, 8))
    positions = batch["position_ids"]
    assert positions.shape == (3, 8)
    assert (positions.diff(dim=-1) > 0).all()
    assert positions.min() >= 0
    assert positions.max() < 50
    assert (positions == positions[0]).all() == (per == "batch")
    assert batch["attention_mask"].all()
    assert not torch.equal(collator(rows(3, 8))["position_ids"], positions)
    again = PositionsCollator(default_data_collator, tiny("llama"), maximum=50, per=per, seed=1)
    assert torch.equal(again(rows(3, 8))["position_ids"], positions)


@pytest.mark.parametrize("name", ["llama", "gpt2", "opt", "gemma2", "bert", "roberta"])
def test_it_equals_the_hooks(name):
    """With one seed both ways draw the same positions; attention does not collapse."""
    model = without_dropout(fresh(name, dropout=0.0) if name == "opt" else fresh(name)).train()
    batch = PositionsCollator(default_data_collator, model, maximum=90, seed=4)(rows(2, 9))
    explicit = model(**batch).logits
    with randomize_positions(model, maximum=90, seed=4):
        hooked = model(batch["input_ids"]).logits
    torch.testing.assert_close(explicit, hooked, rtol=0, atol=1e-5)


@pytest.mark.parametrize("side", ["left", "right"])
def test_roberta_starts_after_its_row_for_padding(side):
    model = tiny("roberta")
    features = [{"input_ids": [5, 6, 7]}, {"input_ids": [5, 6, 7, 8, 9, 10]}]
    capacity = TABLE - PAD - 1
    collator = PositionsCollator(lambda f: padded(f, side), model, maximum=capacity, seed=0)
    for _ in range(20):
        batch = collator(features)
        real = batch["attention_mask"].bool()
        assert batch["position_ids"][real].min() > PAD
        assert batch["position_ids"].max() < TABLE
        assert (batch["position_ids"][~real] == PAD).all()
    with pytest.raises(UserError, match=f"maximum={capacity + 1} is more than"):
        PositionsCollator(default_data_collator, model, maximum=capacity + 1)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_does_not_take_part_in_the_draw(side):
    features = [{"input_ids": [5, 6, 7]}, {"input_ids": [5, 6, 7, 8, 9, 10]}]
    counts = np.zeros(7)
    for seed in range(400):
        collator = PositionsCollator(lambda f: padded(f, side), tiny("llama"), maximum=6, seed=seed)
        batch = collator(features)
        positions, real = batch["position_ids"], batch["attention_mask"].bool()
        assert positions[1].tolist() == list(range(6))
        assert (positions[0][real[0]].diff() > 0).all()
        assert (positions[0][~real[0]] == 0).all()
        counts[positions[0][real[0]]] += 1
    # Three of six positions: each is taken half of the time. The cut of a longer draw would take
    # 0, 1 and 2 always.
    assert np.abs(counts[:6] / 400 - 0.5).max() < 0.13


def test_skipwise_positions():
    collator = PositionsCollator(default_data_collator, tiny("llama"), maximum=500, chunks=2)
    steps = torch.stack([collator(rows(1, 10))["position_ids"].diff() for _ in range(20)])
    assert (steps >= 1).all()
    assert ((steps > 1).sum(dim=-1) <= 1).all()
    assert (steps > 1).any()


def test_workers_and_epochs_do_not_repeat_each_other(monkeypatch):
    """Workers start as copies of one collator, and in every epoch anew, with seeds of their own."""
    collator = PositionsCollator(default_data_collator, tiny("llama"), maximum=10_000, seed=0)

    def draws_of_worker(seed: int) -> list[tuple[int, ...]]:
        worker = SimpleNamespace(seed=seed)
        monkeypatch.setattr("randpos.huggingface.collator.get_worker_info", lambda: worker)
        fork = copy.deepcopy(collator)
        return [tuple(fork(rows(1, 4))["position_ids"][0].tolist()) for _ in range(4)]

    seeds = [1000, 1001, 77_000, 77_001]  # two epochs of two workers
    assert len({draw for seed in seeds for draw in draws_of_worker(seed)}) == 16
    assert draws_of_worker(1000) == draws_of_worker(1000)


def test_positions_of_another_collator_are_not_overwritten():
    def inner(features):
        return {**default_data_collator(features), "position_ids": torch.zeros(1)}

    with pytest.raises(UserError, match="position_ids already"):
        PositionsCollator(inner, tiny("llama"))(rows(1, 3))

"""State: resumed training, evaluation beside it, saved settings, and draws that are held."""

import copy
import json
import warnings

import pytest
import torch
from transformers import AutoModelForCausalLM, Trainer

from randpos.errors import UserError
from randpos.huggingface import (
    RandomizedPositionsCallback,
    check,
    randomize_positions,
)
from tests.huggingface.test_trainer import trainer, weights
from tests.huggingface.tiny import PAD, fresh, tiny, tokens, watched


def train(folder, *, resume=None, callback=True, seed=0, maximum=100, dropout=0.1, **arguments):
    """Trains a tiny model for 6 steps, perhaps from a checkpoint, and returns it and its logs."""
    settings = {"max_steps": 6, "save_strategy": "steps", "save_steps": 3, **arguments}
    model = fresh("llama", attention_dropout=dropout)
    with randomize_positions(model, maximum=maximum, seed=seed):
        run: Trainer = trainer(model, folder, **settings)
        if callback:
            run.add_callback(RandomizedPositionsCallback())
        run.train(resume_from_checkpoint=resume)
    return weights(model), [log["eval_loss"] for log in run.state.log_history if "eval_loss" in log]


@pytest.mark.parametrize("restore", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_resumed_run_equals_the_undisturbed_one(tmp_path, restore):
    """Evaluation takes draws too, and its numbers are repeated as well."""
    every = {"eval_strategy": "steps", "eval_steps": 2, "gradient_accumulation_steps": 2}
    expected, losses = train(tmp_path, **every)
    checkpoint = str(tmp_path / "checkpoint-3")
    # The seed is another one; that of the checkpoint counts.
    resumed = {"resume": checkpoint, "restore_callback_states_from_checkpoint": restore}
    found, again = train(tmp_path / "again", **every, **resumed, seed=9)
    assert torch.equal(found, expected)
    assert again == losses
    replayed, _ = train(tmp_path / "replayed", **every, resume=checkpoint, callback=False)
    assert not torch.equal(replayed, expected)


def test_evaluation_does_not_change_training(tmp_path):
    # Without dropout: evaluation takes a number from PyTorch's global generator for its data.
    without, _ = train(tmp_path / "without", dropout=0.0)
    every = {"eval_strategy": "steps", "eval_steps": 1}
    evaluated, losses = train(tmp_path / "with", dropout=0.0, **every)
    assert torch.equal(without, evaluated)
    assert len(set(losses)) == len(losses) == 6


def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path):
    train(tmp_path, callback=False)
    checkpoint = str(tmp_path / "checkpoint-3")
    with pytest.raises(UserError, match="without RandomizedPositionsCallback"):
        train(tmp_path / "again", resume=checkpoint)
    train(tmp_path / "other")
    checkpoint = str(tmp_path / "other" / "checkpoint-3")
    with pytest.raises(UserError, match=r"saved draws have maximum=100.*maximum=50"):
        train(tmp_path / "again", resume=checkpoint, maximum=50)
    plain = trainer(fresh("llama"), tmp_path)
    plain.add_callback(RandomizedPositionsCallback())
    with pytest.raises(UserError, match="before train"):
        plain.train()


def test_settings_are_saved_with_the_model(tmp_path):
    model = fresh("llama")
    with randomize_positions(model, maximum=77, per="sequence", chunks=3, seed=0):
        model.save_pretrained(tmp_path)
        expected = model(tokens(2, 6)).logits
    assert not hasattr(model.config, "randomized_positions")
    saved = json.loads((tmp_path / "config.json").read_text())["randomized_positions"]
    assert saved == {"scheme": "skipwise", "maximum": 77, "per": "sequence", "chunks": 3}
    again = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    with pytest.raises(UserError, match="pass maximum as well"):
        randomize_positions(again, per="batch")
    with randomize_positions(again, seed=0):
        assert torch.equal(again(tokens(2, 6)).logits, expected)
    assert again.config.randomized_positions == saved  # it came with the model, so it stays
    check(again)
    with randomize_positions(again, maximum=50) as change:
        assert (change.policy.law.maximum, change.policy.law.per) == (50, "batch")
    again.config.randomized_positions = {"maximum": 5}
    with pytest.raises(UserError, match="not written by this version"):
        randomize_positions(again)


def test_a_loaded_model_with_ordinary_positions_warns_once(tmp_path):
    model = fresh("llama")
    with randomize_positions(model, maximum=77):
        model.save_pretrained(tmp_path)
    forgotten = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    with pytest.warns(UserWarning, match=r"randomize_positions\(model\)"):
        forgotten(tokens(1, 4))
    forgotten(tokens(1, 4))  # warnings are errors here: a second one would fail
    remembered = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with randomize_positions(remembered):
            remembered(tokens(1, 4))


@pytest.mark.parametrize("per", ["batch", "sequence"])
def test_hold_uses_one_draw_for_all_passes_and_models(per):
    model, ids = fresh("llama"), tokens(2, 6)
    reference = copy.deepcopy(model)
    change = randomize_positions(model, maximum=300, per=per, seed=0)
    other = randomize_positions(reference, maximum=300, per=per, seed=5)
    for training in (True, False):  # the reference stays in evaluation mode
        model.train(training)
        with change.hold(other):
            scores = [m(ids).logits for m in (model, reference, model)]
            with change.hold():
                scores.append(model(ids).logits)
        assert all(torch.equal(score, scores[0]) for score in scores)
        assert not torch.equal(model(ids).logits, scores[0])
    assert change.draws == 4
    assert other.draws == 0
    strange = randomize_positions(fresh("gpt2"), maximum=100)
    with pytest.raises(UserError, match="same arguments"), change.hold(strange):
        pass


def test_hold_covers_generation():
    model, ids = fresh("llama"), tokens(2, 5)
    generate = {"max_new_tokens": 4, "do_sample": False, "eos_token_id": None}
    with randomize_positions(model, maximum=300, seed=0) as change, watched(change) as seen:
        with change.hold():
            twice = [model.generate(ids, **generate) for _ in range(2)]
        model.generate(ids, **generate)
    assert torch.equal(*twice)
    assert torch.equal(seen[0], seen[4])
    assert not torch.equal(seen[0], seen[8])


@pytest.mark.parametrize(
    ("name", "side"),
    [("llama", "left"), ("llama", "right"), ("opt", "left"), ("roberta", "right")],
)
def test_padding_does_not_change_the_law(name, side):
    """Four tokens padded to 12 have the mean gap of four tokens: (L + 1) / 5."""
    model, draws, maximum = tiny(name), 300, 120
    ids = torch.full((2, 12), PAD)
    row = slice(8, 12) if side == "left" else slice(0, 4)
    ids[0], ids[1, row] = tokens(1, 12)[0], tokens(1, 4)[0]
    with randomize_positions(model, maximum=maximum, seed=0) as change, watched(change) as seen:
        for _ in range(draws):
            change.model(ids, attention_mask=(ids != PAD).long())
    gaps = torch.stack([s[1, row].diff() for s in seen]).double()
    expected = (maximum + 1) / 5
    # A gap has a standard deviation of about its mean, and three of them are nearly independent.
    assert abs(float(gaps.mean()) - expected) < 4 * expected / (3 * draws) ** 0.5

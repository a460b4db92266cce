"""`Trainer`: no mask, no cache, which is where explicit positions would collapse silently."""

import pytest
import torch
from transformers import Trainer, TrainingArguments, default_data_collator

from randpos.huggingface import PositionsCollator, randomize_positions
from tests.huggingface.tiny import fresh, tokens, watched


def trainer(model, tmp_path, collator=default_data_collator, **arguments) -> Trainer:
    data = [{"input_ids": row.tolist(), "labels": row.tolist()} for row in tokens(12, 10)]
    settings = {"max_steps": 3, "per_device_train_batch_size": 4, "report_to": [], "use_cpu": True,
                "save_strategy": "no", "disable_tqdm": True, "seed": 0,
                "per_device_eval_batch_size": 6, "logging_strategy": "no"}  # fmt: skip
    return Trainer(
        model=model,
        args=TrainingArguments(output_dir=str(tmp_path), **{**settings, **arguments}),
        train_dataset=data,  # type: ignore[arg-type]
        eval_dataset=data,  # type: ignore[arg-type]
        data_collator=collator,
    )


def weights(model) -> torch.Tensor:
    return torch.cat([p.detach().ravel() for p in model.parameters()])


def test_training_and_evaluation_draw_per_batch_and_repeat_under_a_seed(tmp_path):
    final = []
    for _ in range(2):
        model = fresh("llama")
        with randomize_positions(model, maximum=100, seed=0) as change, watched(change) as seen:
            run = trainer(model, tmp_path)
            run.train()
            assert change.draws == 3
            run.evaluate()
            assert change.draws == 5
        assert len({tuple(ids[0].tolist()) for ids in seen}) == 5
        final.append(weights(model))
    assert torch.equal(*final)
    plain = fresh("llama")
    trainer(plain, tmp_path).train()
    assert not torch.equal(weights(plain), final[0])


@pytest.mark.parametrize("checkpointing", [False, True])
def test_hooks_and_collator_train_the_same_weights(tmp_path, checkpointing):
    """The two ways share nothing but the draw; with one seed they must agree to rounding."""
    hooked, explicit = fresh("llama"), fresh("llama")
    with randomize_positions(hooked, maximum=100, seed=0):
        if checkpointing:
            enable = getattr(hooked, "activation_checkpointing_enable", None)  # from 5.2x on
            (enable or hooked.gradient_checkpointing_enable)()
        trainer(hooked, tmp_path).train()
    collator = PositionsCollator(default_data_collator, explicit, maximum=100, seed=0)
    trainer(explicit, tmp_path, collator).train()
    torch.testing.assert_close(weights(hooked), weights(explicit), rtol=0, atol=1e-5)

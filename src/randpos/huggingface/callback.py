"""Randomized positions as part of the state of a `Trainer`."""

from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import ExportableState

from randpos.errors import UserError
from randpos.huggingface.hooks import RandomizedPositions, change_of


class RandomizedPositionsCallback(TrainerCallback, ExportableState):
    """Saves the draws of a randomized model in every checkpoint, and continues them on resuming.

    A resumed run is then equal to the uninterrupted one, bit for bit. The model must have been
    randomized before `train()`; its seed is that of the checkpoint.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from randpos.huggingface import randomize_positions
        >>> config = LlamaConfig(vocab_size=9, hidden_size=8, intermediate_size=8,
        ...                      num_hidden_layers=1, num_attention_heads=2)
        >>> model = LlamaForCausalLM(config)
        >>> change = randomize_positions(model, maximum=512, seed=0)
        >>> callback = RandomizedPositionsCallback()  # Trainer(model, ..., callbacks=[callback])
    """

    def __init__(self) -> None:
        self._change: RandomizedPositions | None = None

    def state(self) -> dict[str, Any]:
        """Returns what `Trainer` writes into `trainer_state.json`."""
        saved = None if self._change is None else self._change.state_dict()
        return {"args": {}, "attributes": {"saved": saved}}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Finds the randomized model, and continues the draws of a checkpoint."""
        self._change = change_of(kwargs["model"])
        if self._change is None:
            raise UserError(
                "RandomizedPositionsCallback needs a model with randomized positions; call "
                "randomize_positions(model) before train()."
            )
        if state.global_step == 0:
            return
        stored: Any = state.stateful_callbacks
        saved = (stored or {}).get(type(self).__name__, {}).get("attributes", {}).get("saved")
        if saved is None:
            raise UserError(
                "This checkpoint was saved without RandomizedPositionsCallback, so its draws are "
                "unknown; resume without the callback (draws then start anew)."
            )
        self._change.load_state_dict(saved)

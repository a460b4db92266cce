"""Reads from the arguments of `generate()` what it is about to do."""

import inspect
from typing import Any

from torch import Tensor
from transformers import GenerationMixin

from randpos.errors import UserError

_DEFAULT_NEW_TOKENS = 20  # the default of transformers
_SIGNATURE = inspect.signature(vars(GenerationMixin)["generate"])


def generate_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a call of `generate` by name."""
    named = dict(_SIGNATURE.bind_partial(None, *args, **kwargs).arguments)
    named.update(named.pop("kwargs", {}))
    return named


def prompt_shape(given: dict[str, Any]) -> tuple[int, int]:
    """Returns the numbers of sequences and of columns of the prompt of a call of `generate`."""
    prompts = (given.get(name) for name in ("inputs_embeds", "inputs", "input_ids"))
    prompt = next((prompt for prompt in prompts if prompt is not None), None)
    return (1, 1) if prompt is None else (prompt.shape[0], prompt.shape[1])


def virtual_tokens(model: Any) -> int:
    """Returns how many tokens PEFT puts before every prompt (prompt tuning and the like)."""
    adapter: Any = getattr(model, "active_peft_config", None)
    return adapter.num_virtual_tokens if getattr(adapter, "is_prompt_learning", False) else 0


def new_tokens(model: Any, given: dict[str, Any], columns: int) -> int:
    """Returns how many tokens a call of `generate` may add at most.

    `max_new_tokens` comes before `max_length`, as in `transformers`.

    Args:
        model: The model that generates.
        given: The arguments of the call by name.
        columns: Number of columns of the prompt.
    """
    added, total = (setting(model, given, name) for name in ("max_new_tokens", "max_length"))
    if added is not None:
        return added
    return _DEFAULT_NEW_TOKENS if total is None else max(total - columns, 0)


def setting(model: Any, given: dict[str, Any], name: str) -> int | None:
    """Returns a setting of a call of `generate`.

    Arguments of the call come before its `generation_config`, and that before the model's own, as
    in `transformers`.
    """
    configs = [given.get("generation_config"), model.generation_config]
    values = [given.get(name), *(getattr(config, name, None) for config in configs)]
    return next((value for value in values if value is not None), None)


def refuse_padding_right(mask: Tensor | None) -> None:
    """Raises if a prompt ends in padding: `generate` would continue from the padding token."""
    if mask is not None and mask.ndim == 2 and bool((mask[:, -1] == 0).any()):
        raise UserError(
            "generate() continues every row from its last column, and here some rows end in "
            'padding; pad prompts on the left (tokenizer.padding_side = "left").'
        )

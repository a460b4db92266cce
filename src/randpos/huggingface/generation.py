"""What `generate()` is about to do, read from its arguments: how long, from what, padded where."""

from typing import Any

from torch import Tensor

from randpos.errors import UserError

_DEFAULT_NEW_TOKENS = 20  # what transformers generates if nobody sets a length


def prompt_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """Returns the prompt of a call of `generate`, as ids or as embeddings."""
    if args:
        return args[0]
    given = (kwargs.get(name) for name in ("inputs_embeds", "inputs", "input_ids"))
    return next((prompt for prompt in given if prompt is not None), None)


def new_tokens(model: Any, kwargs: dict[str, Any], prompt: int) -> int:
    """Returns how many tokens a call of `generate` may add at most.

    Arguments of the call come before its `generation_config`, and that before the model's own, as
    in `transformers`; there `max_new_tokens` comes before `max_length`.

    Args:
        model: The model that generates.
        kwargs: The arguments of the call.
        prompt: Number of columns of the prompt.
    """
    configs = [kwargs.get("generation_config"), model.generation_config]

    def setting(name: str) -> int | None:
        values = [kwargs.get(name), *(getattr(config, name, None) for config in configs)]
        return next((value for value in values if value is not None), None)

    added, total = setting("max_new_tokens"), setting("max_length")
    if added is not None:
        return added
    return _DEFAULT_NEW_TOKENS if total is None else max(total - prompt, 0)


def refuse_padding_right(mask: Tensor | None) -> None:
    """Raises if a prompt ends in padding: `generate` would continue from the padding token."""
    if mask is not None and mask.ndim == 2 and bool((mask[:, -1] == 0).any()):
        raise UserError(
            "generate() continues every row from its last column, and here some rows end in "
            'padding; pad prompts on the left (tokenizer.padding_side = "left").'
        )


def filled(cache: Any) -> bool:
    """Returns whether a cache holds keys already."""
    return hasattr(cache, "get_seq_length") and bool(cache.get_seq_length() > 0)

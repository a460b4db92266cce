"""Refuses RoPE variants that derive the length of a sequence from its largest position."""

from typing import Any

from randpos.errors import UserError

_GUESSING = ("dynamic", "longrope")


def check_rope(config: Any) -> None:
    """Raises if the model scales its rotary frequencies by the length of the sequence.

    Both variants take max(position) + 1 for the length. Randomized positions reach L at any length,
    so short sequences would get the frequencies of long ones, different ones with every draw.

    Args:
        config: The configuration of a `transformers` model.
    """
    parameters = getattr(config, "rope_parameters", None) or {}
    nested = [value for value in parameters.values() if isinstance(value, dict)]
    for entry in nested or [parameters]:
        kind = entry.get("rope_type", "default")
        if any(name in kind for name in _GUESSING):
            raise UserError(
                f"rope_type={kind!r} derives its frequencies from the largest position, which "
                "randomized positions no longer tie to the length; load the model with "
                'rope_parameters whose rope_type is "default", "linear", "llama3" or "yarn".'
            )

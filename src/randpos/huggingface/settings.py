"""Keeps the settings of randomized positions in `config.json`, under `randomized_positions`.

A model that was trained with randomized positions is of little use without them. `save_pretrained`
writes the settings with the configuration, `randomize_positions(model)` reads them, and a model
that is loaded with them and used without `randomize_positions` warns once.
"""

import functools
import warnings
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from randpos.errors import UserError
from randpos.huggingface.draws import Law

NAME = "randomized_positions"
_SCHEME = "subset"  # the paper's; "skipwise" with chunks


def _configs(model: nn.Module) -> list[Any]:
    """Returns the configurations of a model and its parts, each once."""
    found = {id(m.config): m.config for m in model.modules() if hasattr(m, "config")}
    return [config for config in found.values() if hasattr(config, "to_dict")]


def write_settings(model: nn.Module, law: Law) -> list[tuple[Any, Any]]:
    """Writes the settings into the configurations of a model; returns what stood there before."""
    scheme = _SCHEME if law.chunks is None else "skipwise"
    before = [(config, getattr(config, NAME, None)) for config in _configs(model)]
    for config, _ in before:
        setattr(config, NAME, {"scheme": scheme, **vars(law)})
    return before


def restore_settings(before: list[tuple[Any, Any]]) -> None:
    """Restores what `write_settings` returned."""
    for config, value in before:
        if value is None:
            delattr(config, NAME)
        else:
            setattr(config, NAME, value)


def saved_law(model: nn.Module) -> Law | None:
    """Returns the settings in the configuration of a model, if it has any."""
    saved = next((s for c in _configs(model) if (s := getattr(c, NAME, None)) is not None), None)
    if saved is None:
        return None
    named = saved if isinstance(saved, dict) else {}
    law = {name: value for name, value in named.items() if name != "scheme"}
    scheme = _SCHEME if law.get("chunks") is None else "skipwise"
    if law.keys() != {"maximum", "per", "chunks"} or named.get("scheme") != scheme:
        raise UserError(
            f"config.{NAME}={saved!r} was not written by this version of randpos; pass maximum, "
            "per and chunks to randomize_positions."
        )
    return Law(**law)


def warn_of_ordinary_positions(model: PreTrainedModel) -> None:
    """Lets a model with saved settings warn at its first forward pass, unless it is randomized."""
    if not any(getattr(config, NAME, None) for config in _configs(model)):
        return

    def warn(module: nn.Module, args: tuple[Any, ...]) -> None:
        handle.remove()
        if any(hasattr(part, "_randpos") for part in model.modules()):
            return
        warnings.warn(
            f"{type(model).__name__} was saved with randomized positions and now runs with "
            "ordinary ones; call randpos.huggingface.randomize_positions(model).",
            stacklevel=2,
        )

    handle = model.register_forward_pre_hook(warn)


def watch_loading() -> None:
    """Makes `from_pretrained` of all models look for saved settings."""
    load = PreTrainedModel.from_pretrained.__func__  # type: ignore[attr-defined]

    @functools.wraps(load)
    def from_pretrained(cls: type[PreTrainedModel], *args: Any, **kwargs: Any) -> Any:
        loaded = load(cls, *args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded  # with output_loading_info
        warn_of_ordinary_positions(model)
        return loaded

    PreTrainedModel.from_pretrained = classmethod(from_pretrained)  # type: ignore[assignment]

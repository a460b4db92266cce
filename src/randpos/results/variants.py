"""The settings in which a budget differs from the paper's, in words."""

import json

from randpos.experiment import PRESETS, preset
from randpos.results.scores import variant

WORDS = {
    "lengths.name": "training lengths: {}",
    "lengths.initial": "from {}",
    "lengths.increase": "by {}",
    "lengths.every": "every {} steps",
    "model.dropout": "dropout {}",
    "optimizer.name": "optimizer {}",
    "optimizer.warmup": "{} steps of warm-up",
    "optimizer.final_rate": "rate falls to {} of its value",
    "optimizer.weight_decay": "weight decay {}",
    "optimizer.average": "weights averaged with decay {}",
}
"""Settings that have words of their own, in the order in which they are read."""


def describe_variant(text: str) -> str:
    """Writes what `scores.variant` returns for people.

    >>> describe_variant("clip=0.5, model.dropout=0.0")
    'dropout 0.0, clip=0.5'
    >>> describe_variant(variant(json.dumps(preset("laptop").to_dict())))
    'recipe of the budget laptop'
    """
    if name := _recipes().get(text):
        return f"recipe of the budget {name}"
    parts = (part.partition("=") for part in text.split(", "))
    settings = {name: value for name, _, value in parts}
    words = [WORDS[name].format(settings.pop(name)) for name in WORDS if name in settings]
    return ", ".join([*words, *(f"{name}={value}" for name, value in settings.items())])


def _recipes() -> dict[str, str]:
    """Returns the names of budgets by their variants."""
    found = {variant(json.dumps(preset(name).to_dict())): name for name in PRESETS}
    return {text: name for text, name in found.items() if text}

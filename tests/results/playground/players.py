"""Small models with random weights for every encoding and task of the playground."""

import functools
from dataclasses import dataclass
from typing import Any

import equinox as eqx

from randpos import Architecture, Encoder, Experiment, PositionOptions
from randpos.results.playground import Player
from randpos.settings import Reading
from randpos.tasks import TASKS
from randpos.tasks.base import vocabulary
from tests.experiments import random_model, tiny

LARGEST = 700
"""The largest position of all models."""
WIDE = Architecture(layers=2, heads=2, dim=16, hidden=12)
"""Heads as wide as the paper's, for which the page has code of its own."""
NARROW = Architecture(layers=2, heads=4, dim=16, hidden=12)
THREE = Architecture(layers=1, heads=3, dim=12, hidden=8)
CAUSAL = Architecture(layers=1, heads=2, dim=16, hidden=12, causal=True)


@dataclass(frozen=True)
class Variant:
    """A kind of model that the playground runs."""

    encoding: str
    reading: Reading = "positions"
    model: Architecture = WIDE

    def __str__(self) -> str:
        return f"{self.encoding}-{self.reading}-{self.model.heads}-{self.model.causal}"

    def experiment(self, task: str, test_length: int) -> Experiment:
        """An experiment of this kind; plain positions have no reading to choose."""
        randomized = self.encoding.startswith("randomized-")
        chosen: dict[str, Any] = {"maximum": LARGEST, "reading": self.reading} if randomized else {}
        options = {"model": self.model, "positions": PositionOptions(**chosen)}
        return tiny(task=task, encoding=self.encoding, test_length=test_length, **options)

    @functools.cached_property
    def whole(self) -> Encoder:
        """A model with room for the tokens and classes of every task."""
        return random_model(self.experiment("solve_equation", LARGEST - 1))

    def player(self, task: str) -> Player:
        """The part of the whole model that a task needs."""
        known = TASKS[task]
        places = lambda m: (m.embedding, m.head.weight, m.head.bias)  # noqa: E731
        model: Any = self.whole
        parts = (
            model.embedding[: vocabulary(known)],
            model.head.weight[:, : known.classes],
            model.head.bias[: known.classes],
        )
        model = eqx.tree_at(places, model, parts)
        return Player(f"{self}-{task}", self.experiment(task, 200), model)


PLAIN = ("none", "sincos", "relative", "alibi", "rope", "learned")
VARIANTS = [
    *(Variant(name) for name in PLAIN),
    *(Variant(f"randomized-{name}") for name in PLAIN[1:]),
    Variant("randomized-alibi", "distances"),
    Variant("randomized-relative", "distances"),
    Variant("randomized-relative", model=NARROW),
    Variant("randomized-rope", model=CAUSAL),
    Variant("alibi", model=THREE),
]

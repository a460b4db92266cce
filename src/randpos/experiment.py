"""An experiment: the settings that decide the outcome of one run, as pure data.

Its digest names the run. `randpos.setup` turns it into a task, positions and a model. `PRESETS`
holds the budgets by name: `smoke`, `laptop`, `overnight` and `paper`.
"""

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from randpos.errors import UserError, check_count, check_seed, quoted, unknown
from randpos.plain_data import field_names, flat, read_fields
from randpos.settings import (
    Answers,
    Architecture,
    Evaluation,
    Optimizer,
    PositionOptions,
    Reading,
    Schedule,
)

MAX_TEST_LENGTH = 10**6
"""The longest length that a model may be tested at: far beyond what attention can do."""
MAX_THINKING = 100
"""Most blank tokens per token of input."""

Prefix = Literal["", "randomized", "unsorted"]
ALIASES = {"label": "randomized-learned"}
DEFAULT_READINGS: dict[str, Reading] = {"alibi": "distances"}
"""Encodings whose default reading is not `positions`."""


def split_name(name: str) -> tuple[Prefix, str]:
    """Splits the name of an encoding with its position scheme; resolves aliases.

    >>> split_name("randomized-rope"), split_name("rope"), split_name("label")
    (('randomized', 'rope'), ('', 'rope'), ('randomized', 'learned'))
    """
    name = ALIASES.get(name, name)
    for prefix in get_args(Prefix):
        if prefix and name.startswith(f"{prefix}-"):
            return prefix, name.removeprefix(f"{prefix}-")
    return "", name


@dataclass(frozen=True)
class Experiment:
    """One run: a task, an encoding and a budget. The defaults are the paper's protocol."""

    task: str = "reverse_string"
    """A task's name (see `randpos tasks`), or `module:Class` for one of your own."""
    encoding: str = "randomized-relative"
    """An encoding with its position scheme (see `randpos encodings`); one of your own is
    `module:Class` or `randomized-module:Class`."""
    steps: int = 2_000_000
    """Training steps."""
    batch: int = 128
    """Examples per step."""
    learning_rate: float = 3e-4
    """Learning rate, before warm-up and decay; the paper takes the best of 1e-4, 3e-4 and 5e-4."""
    clip: float = 1.0
    """Largest global norm of a gradient."""
    seed: int = 0
    """Seed of the parameters, batches, positions and dropout."""
    test_length: int = 500
    """M, the longest length that the model is tested at."""
    answers: Answers = "parallel"
    """`parallel`: an encoder answers at placeholders, all at once, as in the paper.
    `autoregressive`: a causal decoder writes the answer token by token."""
    thinking: int = 0
    """Blank tokens between input and answer, per token of input."""
    positions: PositionOptions = field(default_factory=PositionOptions)
    model: Architecture = field(default_factory=Architecture)
    lengths: Schedule = field(default_factory=Schedule)
    optimizer: Optimizer = field(default_factory=Optimizer)
    evaluation: Evaluation = field(default_factory=Evaluation)

    def __post_init__(self) -> None:
        # 1 and 1.0 are the same rate and must give the same digest.
        object.__setattr__(self, "learning_rate", float(self.learning_rate))
        object.__setattr__(self, "clip", float(self.clip))
        check_count("steps", self.steps)
        check_count("batch", self.batch)
        check_count("test_length", self.test_length, MAX_TEST_LENGTH)
        for name in ("learning_rate", "clip"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise UserError(f"{name}={value} must be a positive number.")
        check_seed("seed", self.seed)
        if self.answers not in get_args(Answers):
            raise unknown("way of answering", self.answers, get_args(Answers))
        if not (type(self.thinking) is int and 0 <= self.thinking <= MAX_THINKING):
            raise UserError(
                f"thinking={quoted(self.thinking)} must lie between 0 and {MAX_THINKING}."
            )
        if self.answers == "autoregressive" and not self.model.causal:
            # A decoder is always causal. Storing it gives both spellings the same digest.
            model = dataclasses.replace(self.model, causal=True)
            object.__setattr__(self, "model", model)
        if self.test_length < self.lengths.maximum:
            raise UserError(
                f"test_length={self.test_length} is shorter than the training length "
                f"N={self.lengths.maximum}; pass --test-length {self.lengths.maximum} or more."
            )

    @property
    def encoding_name(self) -> str:
        """The encoding with its scheme, aliases resolved: all names of a run have one digest."""
        prefix, encoding = split_name(self.encoding)
        return f"{prefix}-{encoding}" if prefix else encoding

    @property
    def reading(self) -> Reading:
        """What a randomized offset is, with the encoding's default filled in."""
        if self.positions.reading != "default":
            return self.positions.reading
        prefix, encoding = split_name(self.encoding)
        return DEFAULT_READINGS.get(encoding, "positions") if prefix else "positions"

    def to_dict(self) -> dict[str, Any]:
        """Returns the experiment as plain data, for JSON."""
        # Not dataclasses.asdict: it copies deeply, and sweeps call this thousands of times.
        return {
            name: {part: getattr(value, part) for part in field_names(type(value))}
            if dataclasses.is_dataclass(value)
            else value
            for name, value in ((name, getattr(self, name)) for name in field_names(Experiment))
        }

    @classmethod
    def from_dict(cls, data: Any) -> "Experiment":
        """Reads what `to_dict` wrote; a field of the wrong type or name is a `UserError`."""
        return cls(**read_fields(cls, data, "experiment"))

    @cached_property
    def digest(self) -> str:
        """Names the run: a hash of everything that decides its training.

        How it is evaluated does not: the same model may be tested in many ways. A setting that was
        added after version 0.1 (`LATER`) counts only where it differs from its default, so that
        runs keep their names when settings are added.
        """
        if not self.positions.maximum:
            raise UserError(
                "positions.maximum=0 (auto) is not chosen yet, so the run has no name; pass the "
                "experiment through randpos.setup.choose_maximum."
            )
        data = self.to_dict()
        del data["evaluation"]
        data["encoding"] = self.encoding_name
        data["positions"] = data["positions"] | {"reading": self.reading}
        for name in _unchanged(self):
            table, _, field = name.rpartition(".")
            del (data[table] if table else data)[field]
        text = json.dumps({k: v for k, v in data.items() if v != {}}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


LATER: dict[str, Any] = {
    "optimizer.name": "adam",
    "optimizer.warmup": 0,
    "optimizer.final_rate": 1.0,
    "optimizer.weight_decay": 0.0,
    "optimizer.average": 0.0,
    "model.attention_scale": "constant",
    "answers": "parallel",
    "thinking": 0,
    "model.window": 0,
    "positions.both_sides": False,
}
"""Settings added after version 0.1, by dotted name, with the default that they had then.

Add every new setting here. Never change an entry: it would rename existing runs.
"""


def _unchanged(experiment: Experiment) -> list[str]:
    settings = flat(experiment.to_dict())
    return [name for name, default in LATER.items() if settings[name] == default]


_RECIPE: dict[str, Any] = {
    "batch": 32,
    "learning_rate": 5e-4,
    "test_length": 200,
    "positions": PositionOptions(maximum=0),
    "model": Architecture(dropout=0.0),
    "optimizer": Optimizer("muon", warmup=100, final_rate=0.1, average=0.99),
}

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "steps": 20,
        "batch": 16,
        "test_length": 60,
        "evaluation": Evaluation(stride=20, batch=16),
    },
    "laptop": {
        **_RECIPE,
        "steps": 2_000,
        "lengths": Schedule("regular_increase", initial=10, increase=1, every=20),
        "evaluation": Evaluation(stride=20, batch=96),
    },
    "overnight": {
        **_RECIPE,
        "steps": 40_000,
        "lengths": Schedule("regular_increase", initial=10, increase=1, every=400),
        "evaluation": Evaluation(stride=10, batch=256),
    },
    "paper": {},
}
"""Budgets by name: seconds, a minute or two, an hour or two on one core, and the paper's own.

`laptop` and `overnight` are our recipes for small budgets; docs/recipe.md lists every
difference from the paper.
"""


def preset(name: str) -> Experiment:
    """Returns the experiment with the paper's settings and the budget called `name`."""
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    return Experiment(**PRESETS[name])

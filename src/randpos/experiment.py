"""An experiment: everything that decides the outcome of one run, typed, checked and hashable."""

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any, Literal, get_args

import equinox as eqx
import jax
from jaxtyping import Array, Key, PyTree

from randpos.catalog import Combination, get_combination
from randpos.encodings import Encoding, Shape
from randpos.errors import UserError, check_count, check_seed, quoted, unknown
from randpos.nn.model import Architecture, Encoder
from randpos.positions import Draw, Randomized, Reading, Scheme, check_maximum
from randpos.tasks import get_task
from randpos.tasks.base import Task
from randpos.training.batch import total_length, vocabulary
from randpos.training.lengths import Schedule

LONGEST = 10**6
"""The longest length that a model may be tested at: far beyond what attention can do."""
LARGEST = 10**10
"""Parameters of a model, numbers of a batch in training and tokens of one in testing: more than
fits into any accelerator, and asking for them would take all memory long before it fails."""


@dataclass(frozen=True)
class PositionOptions:
    """How randomized positions are drawn; without effect on ordinal positions."""

    maximum: int = 2048
    """L, the largest position."""
    reading: Reading | Literal["default"] = "default"
    """What a randomized offset is: `positions`, `distances` or `released` (see docs/fidelity.md).
    The default is `distances` for ALiBi and `positions` for all others, as in the paper's text."""
    draw: Draw = "per_batch"
    """Draw positions once `per_batch`, or anew `per_layer` as the released code does."""

    def __post_init__(self) -> None:
        reading = "positions" if self.reading == "default" else self.reading
        Randomized(self.maximum, True, reading, self.draw)  # which checks them


OptimizerName = Literal["adam", "muon"]


@dataclass(frozen=True)
class Optimizer:
    """How gradients become updates; the defaults are the paper's constant rate and Adam."""

    name: OptimizerName = "adam"
    """`adam`, or `muon` for the matrices of the blocks at twice the rate and Adam for the rest."""
    warmup: int = 0
    """Steps over which the rate grows linearly to its value."""
    final_rate: float = 1.0
    """The last step's rate as a share of the first's; below 1 it falls along a cosine."""
    weight_decay: float = 0.0
    """Decoupled decay of the matrices, times the rate."""
    average: float = 0.0
    """Decay of an exponential average of the weights, which is what is tested; 0 is no average."""

    def __post_init__(self) -> None:
        if self.name not in get_args(OptimizerName):
            raise unknown("optimizer", self.name, get_args(OptimizerName))
        if not (type(self.warmup) is int and 0 <= self.warmup < 2**31):
            raise UserError(f"optimizer.warmup={quoted(self.warmup)} must be 0 or more steps.")
        for name, last in (("final_rate", 1.0), ("weight_decay", math.inf), ("average", 1.0)):
            value = getattr(self, name)
            if not 0 <= value <= last or value == math.inf or (name, value) == ("average", 1.0):
                raise UserError(f"optimizer.{name}={value} is out of range; see its help.")


@dataclass(frozen=True)
class Evaluation:
    """At which lengths, and on how many examples, a trained model is tested."""

    stride: int = 1
    """Test one length in every `stride` up to M, and always 1, N, N+1 and M."""
    batch: int = 500
    """Examples per length."""
    seed: int = 0
    """Seed of the test batches."""
    every: int = 0
    """Test on the way every so many steps, a multiple of 100; 0 never."""
    every_batch: int = 64
    """Examples per length of a test on the way, at N and at six lengths beyond it."""
    draws: int = 0
    """Draws of positions per length, which share its examples. 0: one at stride 1, as in the paper;
    where lengths are skipped, one per 32 examples."""

    def __post_init__(self) -> None:
        for name in ("stride", "batch", "every_batch"):
            check_count(f"evaluation.{name}", getattr(self, name))
        if not (type(self.every) is int and self.every >= 0 and self.every % 100 == 0):
            raise UserError(
                f"evaluation.every={quoted(self.every)} must be a multiple of 100 steps, or 0."
            )
        check_seed("evaluation.seed", self.seed)
        if not 0 <= self.draws <= self.batch:
            raise UserError(
                f"evaluation.draws={quoted(self.draws)} must lie between 0 and "
                f"evaluation.batch={self.batch}: every draw needs an example."
            )

    @property
    def on_the_way(self) -> "Evaluation":
        """How a test on the way tests each of its lengths."""
        draws = max(1, self.every_batch // 32)
        return Evaluation(batch=self.every_batch, seed=self.seed, draws=draws)

    @property
    def draw_count(self) -> int:
        """The number of draws per length, with 0 resolved."""
        return self.draws or (1 if self.stride == 1 else max(1, self.batch // 32))


@dataclass(frozen=True)
class Experiment:
    """One run: a task, an encoding and a budget. The defaults are the paper's protocol."""

    task: str = "reverse_string"
    """A task's name (see `randpos tasks`), or `module:Class` for one of your own."""
    encoding: str = "randomized-relative"
    """An encoding with its position scheme (see `randpos encodings`)."""
    steps: int = 2_000_000
    """Training steps."""
    batch: int = 128
    """Examples per step."""
    learning_rate: float = 3e-4
    """Adam's constant learning rate; the paper takes the best of 1e-4, 3e-4 and 5e-4."""
    clip: float = 1.0
    """Largest global norm of a gradient."""
    seed: int = 0
    """Seed of the parameters, batches, positions and dropout."""
    test_length: int = 500
    """M, the longest length that the model is tested at."""
    positions: PositionOptions = field(default_factory=PositionOptions)
    model: Architecture = field(default_factory=Architecture)
    lengths: Schedule = field(default_factory=Schedule)
    optimizer: Optimizer = field(default_factory=Optimizer)
    evaluation: Evaluation = field(default_factory=Evaluation)

    def __post_init__(self) -> None:
        # A rate written as 1 is the rate 1.0, and the same run.
        object.__setattr__(self, "learning_rate", float(self.learning_rate))
        object.__setattr__(self, "clip", float(self.clip))
        check_count("steps", self.steps)
        check_count("batch", self.batch)
        check_count("test_length", self.test_length, LONGEST)
        for name in ("learning_rate", "clip"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise UserError(f"{name}={value} must be a positive number.")
        check_seed("seed", self.seed)
        if self.test_length < self.lengths.maximum:
            raise UserError(
                f"test_length={self.test_length} is shorter than the training length "
                f"N={self.lengths.maximum}; pass --test-length {self.lengths.maximum} or more."
            )
        if isinstance(self.scheme, Randomized):
            check_maximum(
                self.positions.maximum,
                self.longest,
                f"{self.task} at length {self.test_length}",
            )
        self._check_size()

    def _check_size(self) -> None:
        """Refuses what no machine has the memory for; each size alone may be fine."""
        model, batch = self.model, self.evaluation.batch
        block = 4 * model.dim**2 + 2 * model.dim * model.hidden
        positions = self._shape.positions
        count = model.layers * block + _encoding_size(self.combination.encoding, self._shape)
        if count > LARGEST:
            raise UserError(
                f"layers={model.layers}, dim={model.dim} and hidden={model.hidden}, with "
                f"{positions} positions, make a model of {count:,} parameters; at most "
                f"{LARGEST:,} can be trained."
            )
        seen = int(total_length(self.problem, self.lengths.maximum))
        if self.batch * seen * model.dim > LARGEST:
            raise UserError(
                f"batch={self.batch} is too large for {seen} tokens and dim={model.dim}: "
                f"at most {LARGEST:,} numbers can be trained on at a time."
            )
        if batch * self.longest > LARGEST:
            raise UserError(
                f"evaluation.batch={batch} is too large for {self.longest} tokens: "
                f"at most {LARGEST:,} can be tested on at a time."
            )

    @cached_property
    def problem(self) -> Task:
        """The task itself."""
        return get_task(self.task)

    @cached_property
    def combination(self) -> Combination:
        """The encoding with its scheme of positions."""
        return get_combination(self.encoding)

    @cached_property
    def scheme(self) -> Scheme:
        """How positions are drawn."""
        options = self.positions
        return self.combination.scheme(
            maximum=options.maximum, reading=self.reading, per=options.draw
        )

    @property
    def reading(self) -> Reading:
        """What a randomized offset is, with the encoding's default filled in."""
        chosen = self.positions.reading
        return self.combination.default_reading if chosen == "default" else chosen

    @property
    def longest(self) -> int:
        """The number of tokens of the longest sequence that is ever evaluated."""
        return int(total_length(self.problem, self.test_length))

    @property
    def _shape(self) -> Shape:
        return self.model.shape(self.scheme.largest or self.longest)

    def build(self, key: Key[Array, ""]) -> Encoder:
        """Makes the untrained model."""
        to_encoding, to_model = jax.random.split(key)
        encoding = self.combination.encoding(self._shape, key=to_encoding)
        task = self.problem
        return Encoder(vocabulary(task), task.classes, encoding, self.model, key=to_model)

    def skeleton(self) -> tuple[PyTree, Encoder]:
        """Returns the shapes of the parameters, and the model without them."""
        model = eqx.filter_eval_shape(self.build, jax.random.key(0))
        return eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def to_dict(self) -> dict[str, Any]:
        """Returns the experiment as plain data, for JSON."""
        # Not dataclasses.asdict, which copies deeply: sweeps ask this of thousands.
        return {
            name: {part: getattr(value, part) for part in _names(type(value))}
            if dataclasses.is_dataclass(value)
            else value
            for name, value in ((name, getattr(self, name)) for name in _names(Experiment))
        }

    @classmethod
    def from_dict(cls, data: Any) -> "Experiment":
        """Reads what `to_dict` wrote; a field of the wrong type or name is a `UserError`."""
        return _read(cls, data, "experiment")

    @cached_property
    def digest(self) -> str:
        """Names the run: a hash of everything that decides its training.

        How it is evaluated does not: the same model may be tested in many ways. A setting that was
        added after version 0.1 (`LATER`) counts only where it differs from its default, so that
        runs keep their names when settings are added.
        """
        data = self.to_dict()
        del data["evaluation"]
        data["encoding"] = self.combination.name
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
}
"""Settings added after version 0.1, by dotted name, with the default that they had then.

Add every new setting here. Never change an entry: it would rename existing runs.
"""


def _unchanged(experiment: Experiment) -> list[str]:
    settings = flat(experiment.to_dict())
    return [name for name, default in LATER.items() if settings[name] == default]


def flat(data: Any, prefix: str = "") -> dict[str, Any]:
    """Names the leaves of nested tables with dots; what is no table has none.

    >>> flat({"steps": 1, "positions": {"maximum": 2048}})
    {'steps': 1, 'positions.maximum': 2048}
    """
    found: dict[str, Any] = {}
    for name, value in data.items() if isinstance(data, dict) else ():
        path = f"{prefix}{name}"
        found |= flat(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return found


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(kind))


@lru_cache(maxsize=256)
def _encoding_size(encoding: type[Encoding], shape: Shape) -> int:
    """Counts an encoding's parameters without computing; an impossible one is refused at once."""
    built = eqx.filter_eval_shape(encoding, shape, key=jax.random.key(0))
    leaves = [leaf for leaf in jax.tree.leaves(built) if isinstance(leaf, jax.ShapeDtypeStruct)]
    return sum(math.prod(leaf.shape) for leaf in leaves)


def _read(kind: type, data: Any, where: str) -> Any:
    """Builds a dataclass from plain data, checking names and types on the way."""
    if not isinstance(data, dict):
        raise UserError(f"{where} must be a table of fields, not {quoted(data)}.")
    fields = {f.name: f for f in dataclasses.fields(kind)}
    if extra := sorted(set(map(str, data)) - set(fields)):
        raise UserError(f"{where} has no field {quoted(extra[0])}; it has: {', '.join(fields)}.")
    values = {}
    for name, value in data.items():
        default = fields[name].default
        if default is dataclasses.MISSING:
            values[name] = _read(fields[name].default_factory, value, f"{where}.{name}")  # type: ignore
            continue
        if isinstance(default, float) and type(value) is int and abs(value) < 2**64:
            value = float(value)
        if type(value) is not type(default):
            kind_name = type(default).__name__
            raise UserError(f"{where}.{name}={quoted(value)} must be of type {kind_name}.")
        values[name] = value
    return kind(**values) if kind is Experiment else _part(kind, tuple(values.items()))


@lru_cache(maxsize=256)
def _part(kind: type, values: tuple[tuple[str, Any], ...]) -> Any:
    """Builds a part of an experiment; thousands of runs share a few of them."""
    return kind(**dict(values))


PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "steps": 20,
        "batch": 16,
        "test_length": 60,
        "evaluation": Evaluation(stride=20, batch=16),
    },
    "laptop": {
        "steps": 5_000,
        "test_length": 200,
        "evaluation": Evaluation(stride=10, batch=128),
    },
    "paper": {},
}
"""Budgets by name: seconds, some minutes on two cores, and the paper's own."""


def preset(name: str) -> Experiment:
    """Returns the experiment with the paper's settings and the budget called `name`."""
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    return Experiment(**PRESETS[name])

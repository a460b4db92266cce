"""The parts of an experiment: positions, model, lengths, optimizer and evaluation.

Pure data. Each class checks its own fields and imports nothing but errors.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from randpos.errors import UserError, check_count, check_seed, quoted, unknown

Reading = Literal["positions", "distances", "released"]
Draw = Literal["per_batch", "per_layer", "per_example"]
ScheduleName = Literal["uniform", "fixed", "regular_increase", "reverse_exponential"]
OptimizerName = Literal["adam", "muon"]
AttentionScale = Literal["constant", "log"]
Answers = Literal["parallel", "autoregressive"]

MAX_POSITION = 2**31 - 1
"""Positions are int32."""


def check_positions(maximum: int, reading: str, draw: str) -> None:
    """Raises `UserError` if these are not settings of randomized positions."""
    if not 1 <= maximum <= MAX_POSITION:
        raise UserError(
            f"L={quoted(maximum)} must lie between 1 and {MAX_POSITION:,}; pass another maximum."
        )
    if reading not in get_args(Reading):
        raise unknown("reading", reading, get_args(Reading))
    if draw not in get_args(Draw):
        raise unknown("draw", draw, get_args(Draw))


AUTO = 2.0
"""L divided by the tokens of the longest tested sequence, where L is `auto`."""


@dataclass(frozen=True)
class PositionOptions:
    """How randomized positions are drawn; no effect on ordinal positions."""

    maximum: int = 2048
    """L, the largest position. 0 or `auto`: twice the tokens of the longest tested sequence."""
    reading: Reading | Literal["default"] = "default"
    """What a randomized offset is: `positions`, `distances` or `released` (see docs/fidelity.md).
    The default is `distances` for ALiBi and `positions` for all others, as in the paper's text."""
    draw: Draw = "per_batch"
    """Draw positions once `per_batch`, anew `per_layer` as the released code does, or anew
    `per_example`."""
    both_sides: bool = False
    """Reading `distances` only: draw the distances to the left and to the right separately."""

    def __post_init__(self) -> None:
        reading = "positions" if self.reading == "default" else self.reading
        # 0 stands for a number that depends on the task: `setup.choose_maximum` fills it in.
        check_positions(self.maximum or MAX_POSITION, reading, self.draw)
        if self.both_sides and self.reading not in ("default", "distances"):
            raise UserError(
                f"positions.both_sides draws distances, but positions.reading={self.reading!r}; "
                "pass --positions.reading distances."
            )


class Shape(NamedTuple):
    """The sizes of the model that an encoding is built for."""

    layers: int = 5
    heads: int = 8
    dim: int = 64
    positions: int = 2048
    """The largest position that occurs: L, or the length of the longest sequence."""
    one_sided: bool = False
    """Whether the model is a decoder, in which no key stands to the right of its query. Encodings
    then take the causal form of their authors."""

    @property
    def head_dim(self) -> int:
        """The width of one head."""
        return self.dim // self.heads


@dataclass(frozen=True)
class Architecture:
    """The sizes of the Transformer. The paper's: 5 layers, 8 heads, dim 64, dropout 0.1."""

    layers: int = 5
    """Number of blocks."""
    heads: int = 8
    """Attention heads per block."""
    dim: int = 64
    """Width of the model, d_model."""
    hidden: int = 256
    """Width of the feed-forward layers."""
    dropout: float = 0.1
    """Probability of dropping an activation in training."""
    causal: bool = False
    """Attend only to tokens at or before the query."""
    attention_scale: AttentionScale = "constant"
    """Multiply the logits of attention by 1/√d only (`constant`), or also by the logarithm of the
    number of keys that the query may attend to (`log`; Chiang and Cholak, 2022)."""
    window: int = 0
    """Attend only to the nearest W tokens: W // 2 on either side of the query, or under a causal
    mask the last W, the query included. 0: to all."""

    def __post_init__(self) -> None:
        check_count("layers", self.layers, 1000)
        for name in ("heads", "dim", "hidden"):
            check_count(name, getattr(self, name), 10**6)
        if self.dim % self.heads:
            raise UserError(
                f"heads={self.heads} does not divide dim={self.dim}; "
                f"pass a dim that is a multiple of {self.heads}."
            )
        if not 0.0 <= self.dropout < 1.0:
            raise UserError(f"dropout={self.dropout} must lie in [0, 1).")
        if self.attention_scale not in get_args(AttentionScale):
            raise unknown("attention_scale", self.attention_scale, get_args(AttentionScale))
        if not (type(self.window) is int and 0 <= self.window < 2**31):
            raise UserError(f"window={quoted(self.window)} must be 0 or more tokens.")

    def shape(self, positions: int) -> Shape:
        """Returns the sizes that an encoding of up to `positions` positions is built for."""
        return Shape(self.layers, self.heads, self.dim, positions)


@dataclass(frozen=True)
class Schedule:
    """How the length of a training step is chosen; all examples of a step share it."""

    name: ScheduleName = "uniform"
    """uniform: n ~ U{1..N}, as in the paper. fixed: always N. regular_increase: uniform up to a
    bound that grows from `initial` by `increase` every `every` steps, to N at most.
    reverse_exponential: n in 1..N with probability proportional to `decay`^n."""
    maximum: int = 40
    """N, the longest training length."""
    initial: int = 1
    """First bound of regular_increase."""
    increase: int = 1
    """By how much the bound of regular_increase grows."""
    every: int = 1000
    """After how many steps it grows."""
    decay: float = 0.9
    """Ratio of the probabilities of two neighbouring lengths in reverse_exponential."""
    seed: int = 0
    """Seed of the lengths; members of an ensemble share it."""

    def __post_init__(self) -> None:
        if self.name not in get_args(ScheduleName):
            raise unknown("length schedule", self.name, get_args(ScheduleName))
        for field in ("maximum", "initial", "increase", "every"):
            check_count(f"lengths.{field}", getattr(self, field), 2**63 - 1)
        if not 0 < self.decay < math.inf:
            raise UserError(f"lengths.decay={self.decay} must be a positive number.")
        check_seed("lengths.seed", self.seed)


@dataclass(frozen=True)
class Optimizer:
    """How gradients become updates. The paper's: Adam at a constant rate, nothing else."""

    name: OptimizerName = "adam"
    """`adam`, or `muon` for the matrices of the blocks at twice the rate and Adam for the rest."""
    warmup: int = 0
    """Steps over which the rate grows linearly to its value."""
    final_rate: float = 1.0
    """The last step's rate as a share of the learning rate; below 1 it falls along a cosine."""
    weight_decay: float = 0.0
    """Decoupled decay of the matrices, times the rate."""
    average: float = 0.0
    """Decay of an exponential average of the weights; the average is tested. 0: no average."""

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
    """Steps between two tests during training, a multiple of 100; 0: no such tests."""
    every_batch: int = 64
    """Examples per length of a test during training, at N and at six lengths beyond it."""
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
    def periodic(self) -> "Evaluation":
        """How a test during training tests each of its lengths."""
        draws = max(1, self.every_batch // 32)
        return Evaluation(batch=self.every_batch, seed=self.seed, draws=draws)

    @property
    def draw_count(self) -> int:
        """The number of draws per length, with 0 resolved."""
        return self.draws or (1 if self.stride == 1 else max(1, self.batch // 32))

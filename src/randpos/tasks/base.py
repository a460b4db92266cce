"""The interface of a task: what to sample, what to answer, and which answers count.

A task is a pure function of a key. Its arrays have static shapes, set by a `maximum` length;
the `length` of the sequences inside them may be traced, so that one compiled program serves
every length up to the maximum. Nothing that is sampled depends on the maximum.
"""

import abc
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from randpos.errors import UserError

Level = Literal["R", "DCF", "CS"]
Length = int | Int[Array, ""]


class Example(NamedTuple):
    """One example inside static buffers; what lies beyond its lengths is zero."""

    inputs: Int[Array, " input"]
    outputs: Int[Array, " output"]


class Batch(NamedTuple):
    """Examples of one length. `counted` marks the outputs that enter the accuracy."""

    inputs: Int[Array, "batch input"]
    outputs: Int[Array, "batch output"]
    counted: Bool[Array, "batch output"]

    def cut(self, inputs: int, outputs: int) -> "Batch":
        """Keeps the first places of the buffers."""
        return Batch(self.inputs[:, :inputs], self.outputs[:, :outputs], self.counted[:, :outputs])


class Task(abc.ABC):
    """An algorithmic task on token sequences (section 4 of the paper, "Problem setup").

    A subclass names its facts as class attributes and samples one example. A class in a file of
    your own works everywhere a built-in name does: pass `--task my_module:MyTask`.
    """

    name: ClassVar[str]
    level: ClassVar[Level]
    """Regular, deterministic context-free or context-sensitive."""
    description: ClassVar[str]
    symbols: ClassVar[str]
    """One printable character per input token."""
    output_symbols: ClassVar[str]
    """One printable character per output class."""
    chance: ClassVar[float]
    """Accuracy of guessing, as the paper states it."""
    permutation_invariant: ClassVar[bool] = False
    terminator: ClassVar[int | None] = None
    """The output class after which nothing counts, if the task has one."""

    @property
    def tokens(self) -> int:
        """Number of different input tokens."""
        return len(self.symbols)

    @property
    def classes(self) -> int:
        """Number of output classes."""
        return len(self.output_symbols)

    def input_length(self, length: Length) -> Length:
        """Returns the number of input tokens at a sampled length n; by default n."""
        return length

    @abc.abstractmethod
    def output_length(self, length: Length) -> Length:
        """Returns |y| at a sampled length n; it does not decrease with n."""

    @abc.abstractmethod
    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Samples one example of a (possibly traced) `length` ≤ `maximum`.

        Args:
            key: Source of all randomness.
            length: The sampled length n, at least 1.
            maximum: The static length that the buffers are made for: `input_length(maximum)` and
                `output_length(maximum)` places.

        Returns:
            The example. It is the same for every `maximum`.
        """

    def sample(
        self, key: Key[Array, ""], length: Length, batch: int, maximum: int, start: Length = 0
    ) -> Batch:
        """Samples examples `start` to `start + batch` of the batch that `key` stands for.

        Example i depends on `key` and i alone, so a batch may be computed in pieces.
        """
        if isinstance(length, int) and not 1 <= length <= maximum:
            raise UserError(
                f"Length {length} of {self.name} is out of range: pass one in 1..{maximum}."
            )
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(start + jnp.arange(batch))
        inputs, outputs = jax.vmap(lambda k: self.example(k, length, maximum))(keys)
        return Batch(inputs, outputs, self.counted(outputs, length))

    def counted(
        self, outputs: Int[Array, "batch output"], length: Length
    ) -> Bool[Array, "batch output"]:
        """Marks the outputs that enter the accuracy: up to |y|, and to the first terminator."""
        inside = jnp.arange(outputs.shape[-1]) < self.output_length(length)
        if self.terminator is None:
            return jnp.broadcast_to(inside, outputs.shape)
        ended = jnp.cumsum(outputs == self.terminator, axis=-1)
        return inside & (ended - (outputs == self.terminator) == 0)


def vocabulary(task: Task) -> int:
    """Returns the number of tokens of a model: the task's, the placeholder and padding."""
    return task.tokens + 2


def total_length(task: Task, length: Length) -> Length:
    """Returns T, the tokens of a sequence of length n: input and placeholders.

    >>> from randpos.tasks import get_task
    >>> total_length(get_task("duplicate_string"), 500)
    1500
    """
    return task.input_length(length) + task.output_length(length)

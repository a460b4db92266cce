"""Token ids: those of an encoder with placeholders, and those of a decoder with one alphabet."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int

from randpos.tasks.base import Task

SEPARATOR = "="
"""Stands between prompt and answer in text."""
NO_CLASS = -1
"""Marks an answer token that is none of the task's output classes."""


@dataclass(frozen=True)
class EncoderVocabulary:
    """The ids of a model that answers at placeholders: input tokens, then two reserved ids.

    Labels are output classes, which are numbered on their own.
    """

    task: Task

    @property
    def placeholder(self) -> int:
        """Stands at each output position."""
        return self.task.tokens

    @property
    def padding(self) -> int:
        """Fills a row after its last placeholder."""
        return self.task.tokens + 1

    def __len__(self) -> int:
        """Number of ids; the model's embedding needs as many rows."""
        return self.task.tokens + 2


@dataclass(frozen=True)
class DecoderVocabulary:
    """The ids of a causal model: one per symbol of input or output, a separator and padding.

    A symbol that is both an input token and an output class has one id.
    """

    task: Task

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbol of each id; input symbols come first."""
        return tuple(dict.fromkeys(self.task.symbols + self.task.output_symbols))

    @property
    def separator(self) -> int:
        """Ends the prompt."""
        return len(self.symbols)

    @property
    def padding(self) -> int:
        """Fills a row up to its width."""
        return len(self.symbols) + 1

    def __len__(self) -> int:
        """Number of ids; the model's embedding needs as many rows."""
        return len(self.symbols) + 2

    @cached_property
    def classes(self) -> Int[np.ndarray, " classes"]:
        """The id of each output class."""
        return np.array([self.symbols.index(symbol) for symbol in self.task.output_symbols])

    def to_classes(self, ids: Int[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
        """Returns the output class of each id, or `NO_CLASS`."""
        table = np.full(len(self), NO_CLASS)
        table[self.classes] = np.arange(self.task.classes)
        known = (ids >= 0) & (ids < len(self))
        return np.where(known, table[np.where(known, ids, 0)], NO_CLASS)

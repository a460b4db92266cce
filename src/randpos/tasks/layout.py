"""The layout of a sequence: which tokens stand where, for an encoder and for a decoder.

    parallel        input, thinking, one placeholder per answer token
    autoregressive  input, thinking, the separator, all answer tokens but the last

Both have the same number of tokens, and the answer is read at the same places: a decoder predicts
an answer token where the one before it stands, the first one at the separator.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int

from randpos.errors import UserError
from randpos.settings import Answers
from randpos.tasks.base import Length, Task


@dataclass(frozen=True, eq=False)
class Layout:
    """The token numbers and the places of a task's sequences."""

    task: Task
    answers: Answers = "parallel"
    thinking: int = 0
    """Blank tokens per token of input."""

    def __post_init__(self) -> None:
        for symbols in (self.task.symbols, self.task.output_symbols):
            if self.autoregressive and len(set(symbols)) < len(symbols):
                raise UserError(
                    f"answers='autoregressive' needs one symbol per token, but {self.task.name} "
                    f"has some twice in {symbols!r}; give every token a symbol of its own."
                )

    @property
    def autoregressive(self) -> bool:
        """Whether answers are written token by token."""
        return self.answers == "autoregressive"

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbol of each token that is not reserved.

        A decoder reads its own answers: a symbol of both input and output is one token.
        """
        written = self.task.output_symbols if self.autoregressive else ""
        new = [symbol for symbol in written if symbol not in self.task.symbols]
        return (*self.task.symbols, *new)

    @cached_property
    def answer_tokens(self) -> Int[np.ndarray, " classes"]:
        """The token of each output class, with which a decoder reads its answers."""
        index = [self.symbols.index(symbol) for symbol in self.task.output_symbols]
        return np.array(index, np.int32)

    @property
    def placeholder(self) -> int:
        """Stands where an encoder answers; the same token is a decoder's separator."""
        return len(self.symbols)

    @property
    def padding(self) -> int:
        """Fills the buffer."""
        return len(self.symbols) + 1

    @property
    def blank(self) -> int:
        """Stands between input and answer."""
        return len(self.symbols) + 2

    @property
    def vocabulary(self) -> int:
        """The number of tokens of a model."""
        return len(self.symbols) + (3 if self.thinking else 2)

    def prompt_length(self, length: Length) -> Length:
        """Returns the number of tokens before the first place that is answered."""
        return (1 + self.thinking) * self.task.input_length(length)

    def total_length(self, length: Length) -> Length:
        """Returns T, the tokens of a sequence of length n.

        >>> from randpos.tasks import get_task
        >>> Layout(get_task("reverse_string"), "autoregressive", thinking=2).total_length(10)
        40
        """
        return self.prompt_length(length) + self.task.output_length(length)

"""The base class of tasks whose input is a string of uniform bits."""

import abc

from jaxtyping import Array, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import bit_string


class BitStringTask(Task):
    """A task on a string of n uniform bits; the answer consists of bits too."""

    symbols = "01"
    output_symbols = "01"
    chance = 0.5

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws a string."""
        inputs = bit_string(key, length, maximum)
        return Example(inputs, self.answer(inputs, length))

    @abc.abstractmethod
    def answer(self, inputs: Int[Array, " n"], length: Length) -> Int[Array, " output"]:
        """Returns the answer to the first `length` bits; the bits after them are zero."""

"""Addition of decimal numbers, as decoders are trained on it. Not a task of the paper.

The options are those of Zhou et al. (2024, "Transformers Can Achieve Length Generalization But Not
Robustly"). Each is a suffix of the task's name:

    _reversed   all numbers begin with their lowest digit
    _hints      every digit follows a letter that names its place value
    _padded     zeros fill operands up to n digits, and the sum up to n + 1
    _spaces     places without a token are spread over the input; there are n more of them
"""

import itertools
import string
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.binary import carried
from randpos.tasks.draws import below, inside, words

HINTS = string.ascii_letters
"""The letters of place values, in a circle; an example begins at a random one. More digits than
letters repeat some."""
PLUS, SPACE = 10, 11
END = 10


class Addition(Task):
    """Two numbers, of which one has n digits and the other 1 to n; their sum, then an end.

    A number is uniform among those with its number of digits. Operands that are not padded leave
    places of the input empty: those come first, and hold a space.
    """

    name = "addition"
    level = "CS"
    description = "the sum of two decimal numbers of up to n digits"
    symbols = "0123456789+_"
    output_symbols = "0123456789."
    chance = 0.1
    terminator = END
    reversed: ClassVar[bool] = False
    hints: ClassVar[bool] = False
    padded: ClassVar[bool] = False
    spaces: ClassVar[bool] = False

    @property
    def per_digit(self) -> int:
        """Tokens of a digit."""
        return 2 if self.hints else 1

    def input_length(self, length: Length) -> Length:
        """Room for two numbers of n digits and a plus, and n spaces if there is the option."""
        return 2 * length * self.per_digit + 1 + (length if self.spaces else 0)

    def output_length(self, length: Length) -> Length:
        """Room for n + 1 digits and the end."""
        return (length + 1) * self.per_digit + 1

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws sizes, digits, the first hint and the places of the tokens."""
        to_numbers, to_places = jax.random.split(key)
        drawn = words(to_numbers, 3 + 2 * maximum)
        longer = below(drawn[0], 2)
        other = 1 + below(drawn[1], length)
        start = below(drawn[2], len(HINTS))
        sizes = [jnp.where(longer == i, length, other) for i in (0, 1)]
        terms = [_number(drawn[3 + i :: 2], size) for i, size in enumerate(sizes)]
        widths = [length if self.padded else size for size in sizes]

        places = int(self.input_length(maximum))
        index, empty = self._tokens_at(to_places, length, widths, places)
        plus = widths[0] * self.per_digit
        hint = len(self.symbols) - len(HINTS)
        first = self._written(terms[0], widths[0], index, start, hint)
        second = self._written(terms[1], widths[1], index - plus - 1, start, hint)
        inputs = jnp.where(index < plus, first, jnp.where(index == plus, PLUS, second))
        inputs = jnp.where(empty, SPACE, inputs)
        inputs = jnp.where(inside(self.input_length(length), places), inputs, 0)

        total = carried(jnp.pad(terms[0], (0, 1)) + jnp.pad(terms[1], (0, 1)), 10)
        digits = jnp.max(jnp.where(total > 0, jnp.arange(maximum + 1), 0)) + 1
        digits = length + 1 if self.padded else digits
        place = jnp.arange(int(self.output_length(maximum)))
        outputs = self._written(total, digits, place, start, END + 1)
        end = digits * self.per_digit
        outputs = jnp.where(place < end, outputs, jnp.where(place == end, END, 0))
        return Example(inputs, outputs)

    def _tokens_at(
        self, key: Key[Array, ""], length: Length, widths: list[Length], places: int
    ) -> tuple[Int[Array, " places"], Bool[Array, " places"]]:
        """Returns the number of the token at each place, and which places are empty."""
        place = jnp.arange(places)
        room = self.input_length(length)
        tokens = (widths[0] + widths[1]) * self.per_digit + 1
        if not self.spaces:
            index = place - (room - tokens)
            return index, index < 0
        # The first `tokens` places of a random order hold tokens.
        order = jnp.where(place < room, words(key, places) >> 1, jnp.uint32(2**32 - 1))
        rank = jnp.argsort(jnp.argsort(order))
        return jnp.cumsum(rank < tokens) - 1, rank >= tokens

    def _written(
        self, digits: Array, width: Length, index: Array, start: Array, first_hint: int
    ) -> Int[Array, " places"]:
        """Returns the tokens of a number, lowest digit first in `digits`, at places `index`."""
        nth = index // self.per_digit
        value = jnp.clip(nth if self.reversed else width - 1 - nth, 0, digits.shape[0] - 1)
        if not self.hints:
            return digits[value]
        hint = first_hint + (start + value) % len(HINTS)
        return jnp.where(index % 2 == 0, hint, digits[value])


def _number(drawn: Array, size: Length) -> Int[Array, " digits"]:
    """Returns the digits of a uniform number of `size` digits, the lowest first."""
    place = jnp.arange(drawn.shape[0])
    highest = (place == size - 1) & (place > 0)
    digits = jnp.where(highest, 1 + below(drawn, 9), below(drawn, 10))
    return jnp.where(place < size, digits, 0)


OPTIONS = ("reversed", "hints", "padded", "spaces")


def _variant(options: tuple[str, ...]) -> Task:
    """Makes the task of some options."""
    base = Addition()
    hints = HINTS if "hints" in options else ""
    spaces = "_" if "spaces" in options or "padded" not in options else ""
    facts = {option: option in options for option in OPTIONS} | {
        "name": "_".join([base.name, *options]),
        "description": ", ".join([base.description, *options]),
        "symbols": f"0123456789+{spaces}{hints}",
        "output_symbols": f"0123456789.{hints}",
        "__doc__": Addition.__doc__,
    }
    return type(Addition.__name__, (Addition,), facts)()


VARIANTS: dict[str, Task] = {
    task.name: task
    for count in range(len(OPTIONS) + 1)
    for task in map(_variant, itertools.combinations(OPTIONS, count))
}
"""Addition with every set of options, by name; the options stand in the order of `OPTIONS`."""

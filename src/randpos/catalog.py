"""Combinations of an encoding and a position scheme: the rows of the paper's tables.

The paper compares 13 rows. They are a product of position schemes and encodings, named by a prefix
(`randomized-`, `unsorted-`, or nothing for ordinal positions) and the encoding's name.
"""

from dataclasses import dataclass
from functools import lru_cache

from randpos.encodings import ENCODINGS, Encoding, get_encoding
from randpos.errors import UserError, unknown
from randpos.experiment import ALIASES, Prefix, split_name
from randpos.facts import OWN_MODEL, PAPER_COMBINATIONS, PREFIXES, ordered_names
from randpos.positions import Ordinal, Randomized, Scheme
from randpos.settings import Draw, Reading


@dataclass(frozen=True)
class Combination:
    """An encoding together with the scheme of its positions."""

    prefix: Prefix
    encoding: type[Encoding]
    path: str = ""
    """The `module:Class` of an encoding that is not in `ENCODINGS`."""

    @property
    def name(self) -> str:
        """The stable public name, such as `randomized-relative`."""
        encoding = self.path or self.encoding.name
        return f"{self.prefix}-{encoding}" if self.prefix else encoding

    @property
    def paper_name(self) -> str | None:
        """What the paper calls it, or None where the paper does not have it."""
        return PAPER_COMBINATIONS.get(self.name)

    @property
    def default_reading(self) -> Reading:
        """What a randomized offset is unless chosen otherwise."""
        return self.encoding.readings[0] if self.prefix else "positions"

    @property
    def description(self) -> str:
        """One line for listings."""
        how = {
            "": "",
            "randomized": " Positions: a random ordered subset of 1..L.",
            "unsorted": " Positions: a random subset of 1..L, not sorted.",
        }
        return self.encoding.description + how[self.prefix]

    @lru_cache(maxsize=256)  # noqa: B019 - few instances, thousands of calls
    def scheme(
        self,
        *,
        maximum: int = 2048,
        reading: Reading | None = None,
        draw: Draw = "per_batch",
        both_sides: bool = False,
    ) -> Scheme:
        """Returns the scheme that draws this combination's positions.

        Args:
            maximum: L.
            reading: What a randomized offset is; see `Randomized`. By default the encoding's.
            draw: How often positions are drawn.
            both_sides: Draw distances to the left and to the right separately.
        """
        reading = reading or self.default_reading
        if not self.prefix:
            if (reading, draw, both_sides) != ("positions", "per_batch", False):
                raise UserError(
                    f"reading={reading!r}, draw={draw!r} and both_sides={both_sides} apply to "
                    f"randomized positions, but those of {self.name} are ordinal; leave them out, "
                    f"or pass randomized-{self.name}."
                )
            return Ordinal()
        scheme = Randomized(maximum, self.prefix == "randomized", reading, draw, both_sides)
        if reading not in self.encoding.readings:
            raise UserError(
                f"reading={reading!r} does not apply to {self.name}; "
                f"pass one of: {', '.join(self.encoding.readings)}."
            )
        if draw == "per_layer" and not self.encoding.layerwise:
            raise UserError(
                f"draw='per_layer' does not apply to {self.name}, whose positions enter once, "
                "before the first layer; pass per_batch or per_example."
            )
        return scheme


def combinations() -> dict[str, Combination]:
    """Returns every combination by name: first the paper's 13 in its order, then all others."""
    return dict(_combinations(tuple(ENCODINGS.values())))


@lru_cache(maxsize=4)
def _combinations(encodings: tuple[type[Encoding], ...]) -> dict[str, Combination]:
    every = (Combination(prefix, encoding) for prefix in PREFIXES for encoding in encodings)
    by_name = {combination.name: combination for combination in every}
    return {name: by_name[name] for name in ordered_names([kind.name for kind in encodings])}


def get_combination(name: str) -> Combination:
    """Returns the combination called `name`; `label` is randomized learned.

    An encoding in a file of your own is a `module:Class`: `randomized-my_module:RootBias`.

    >>> get_combination("randomized-rope").paper_name
    'Randomized RoPE'
    >>> get_combination("label").name
    'randomized-learned'
    """
    prefix, encoding = split_name(name)
    if encoding.startswith(OWN_MODEL):
        raise UserError(
            f"encoding={name!r} is a model that was trained elsewhere, of which only the results "
            "are known; pass an encoding of randpos."
        )
    if ":" in encoding:
        return Combination(prefix, get_encoding(encoding), encoding)
    known = combinations()
    name = ALIASES.get(name, name)
    if name.endswith("-none"):
        raise UserError(f"{name!r} has no positions to draw; pass none.")
    if name not in known:
        raise unknown("encoding", name, [*known, *ALIASES])
    return known[name]

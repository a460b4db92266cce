"""Which of many cases `make test` takes. `make test-all` takes them all."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

ALIKE = ("none", "learned", "t5", "kerple")
"""Encodings whose positions enter where those of another one do: `learned` adds to the embedding as
sin/cos does, the last two have a bias per layer as FIRE does. A new encoding is none of them."""


def without(slow: Collection[str], cases: Iterable[Any]) -> list[Any]:
    """Returns the cases; those of these names are marked as slow."""
    return [
        pytest.param(case, marks=pytest.mark.slow) if str(case) in slow else case
        for case in _known(slow, cases)
    ]


def only(quick: Collection[str], cases: Iterable[Any]) -> list[Any]:
    """Returns the cases; all but those of these names are marked as slow."""
    cases = _known(quick, cases)
    return without([str(case) for case in cases if str(case) not in quick], cases)


def _known(names: Collection[str], cases: Iterable[Any]) -> list[Any]:
    cases = list(cases)
    missing = set(names) - set(map(str, cases))
    assert not missing, f"no such cases: {missing}"
    return cases

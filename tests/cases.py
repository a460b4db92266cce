"""Which of many cases `make test` takes. `make test-all` takes them all."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

KINDS = ("sincos", "relative", "rope", "alibi", "geometric")
"""One encoding for each place where positions enter: the embedding, logits through a product,
queries and keys, logits through a bias, and attention as a whole."""


def only(quick: Collection[str], cases: Iterable[Any]) -> list[Any]:
    """Returns the cases; all but the quick ones, by name, are marked as slow.

    Args:
        quick: One of each kind that the tested code distinguishes.
        cases: All of them.
    """
    cases = list(cases)
    missing = set(quick) - set(map(str, cases))
    assert not missing, f"no such cases: {missing}"
    return [
        case if str(case) in quick else pytest.param(case, marks=pytest.mark.slow) for case in cases
    ]

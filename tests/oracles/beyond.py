"""The tasks beyond the paper in plain Python; see `tests.oracles.tasks`."""

import string
from collections.abc import Callable, Sequence

LETTERS = string.ascii_letters


def copy(tokens: Sequence[int], n: int) -> list[int]:
    assert len(tokens) == n
    assert set(tokens) <= set(range(10))
    return list(tokens)


def multi_query_recall(tokens: Sequence[int], n: int) -> list[int]:
    asked = -(-n // 2)
    assert len(tokens) == 2 * n + asked
    memory = {}
    for key, value in zip(tokens[: 2 * n : 2], tokens[1 : 2 * n : 2], strict=True):
        assert 10 <= key < 26
        assert 0 <= value < 10
        memory[key] = value
    return [memory[key] for key in tokens[2 * n :]]


def addition(*options: str) -> Callable[[Sequence[int], int], list[int]]:
    """Reads an addition as text: strips hints and spaces, adds, and writes the sum the same way."""
    backwards, hints, padded, spaces = (
        option in options for option in ("reversed", "hints", "padded", "spaces")
    )
    letters = LETTERS if hints else ""
    symbols = "0123456789+" + ("" if padded and not spaces else "_") + letters
    classes = "0123456789." + letters

    def read(term: str) -> tuple[str, list[str]]:
        """The digits of a number from the highest on, and its hints from the lowest place on."""
        digits, marks = (term[1::2], term[0::2]) if hints else (term, "")
        if backwards:
            digits = digits[::-1]
        else:
            marks = marks[::-1]
        return digits, list(marks)

    def answer(tokens: Sequence[int], n: int) -> list[int]:
        text = "".join(symbols[token] for token in tokens)
        assert len(text) == (4 * n if hints else 2 * n) + 1 + (n if spaces else 0)
        if not spaces:
            text = text.lstrip("_")
        terms = [read(term) for term in text.replace("_", "").split("+")]
        assert len(terms) == 2
        longest = max(terms, key=lambda term: len(term[0]))
        assert len(longest[0]) == n
        for digits, marks in terms:
            assert digits.isdigit()
            assert (len(digits) == n) if padded else (digits == "0" or digits[0] != "0")
            assert marks == longest[1][: len(marks)]
        written = str(int(terms[0][0]) + int(terms[1][0]))
        written = written.zfill(n + 1) if padded else written
        if hints:
            start = LETTERS.index(longest[1][0])
            circle = [LETTERS[(start + i) % 52] for i in range(n + 1)]
            assert longest[1] == circle[:n]
            written = [circle[len(written) - 1 - i] + d for i, d in enumerate(written)]
        written = "".join(written[::-1] if backwards else written) + "."
        size = (2 if hints else 1) * (n + 1) + 1
        return [classes.index(symbol) for symbol in written.ljust(size, "0")]

    return answer


BEYOND = {
    "copy": copy,
    "multi_query_recall": multi_query_recall,
    "addition": addition(),
    "addition_reversed": addition("reversed"),
    "addition_reversed_hints": addition("reversed", "hints"),
}

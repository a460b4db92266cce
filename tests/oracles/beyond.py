"""The tasks beyond the paper in plain Python; see `tests.oracles.tasks`."""

import itertools
import math
import statistics
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


SCAN = ["walk", "look", "run", "jump", "turn", "left", "right"]
SCAN += ["opposite", "around", "twice", "thrice", "and", "after"]
SCAN_ACTIONS = ["WALK", "LOOK", "RUN", "JUMP", "LTURN", "RTURN"]


def interpret(command: list[str]) -> list[str]:
    """The actions of a command by the interpretation function of the SCAN paper (figure 5)."""
    for word in ("and", "after"):
        if word in command:
            place = command.index(word)
            left, right = interpret(command[:place]), interpret(command[place + 1 :])
            return left + right if word == "and" else right + left
    if command[-1] in ("twice", "thrice"):
        return interpret(command[:-1]) * (2 if command[-1] == "twice" else 3)
    turn = {"left": ["LTURN"], "right": ["RTURN"]}.get(command[-1], [])
    act = [] if command[0] == "turn" else [command[0].upper()]
    match command[1:]:
        case []:
            assert act
            return act
        case ["around", "left" | "right"]:
            return (turn + act) * 4
        case ["opposite", "left" | "right"]:
            return turn + turn + act
        case ["left" | "right"]:
            return turn + act
    raise AssertionError(command)


def scan(tokens: Sequence[int], n: int) -> list[int]:
    assert len(tokens) == 9
    spoken = [token for token in tokens if token != 13]
    assert list(tokens) == spoken + [13] * (9 - len(spoken))
    actions = interpret([SCAN[token] for token in spoken])
    missing = {23, 29, 31, 34, 35, 37, 38, 39, *range(41, 48)}  # no command has so many actions
    assert len(actions) == max(set(range(min(n, 48) + 1)) - missing)
    return [SCAN_ACTIONS.index(action) for action in actions]


def nested(tokens: Sequence[int]) -> tuple[int, int]:
    """The value of the list that tokens begin with, and the number of its tokens."""
    if tokens[0] < 10:
        return tokens[0], 1
    values, place = [], 1
    while tokens[place] != 14:
        value, size = nested(tokens[place:])
        values.append(value)
        place += size
    assert len(values) >= 2
    operation = [min, max, lambda v: math.floor(statistics.median(v)), lambda v: sum(v) % 10]
    return operation[tokens[0] - 10](values), place + 1


def listops(tokens: Sequence[int], n: int) -> list[int]:
    assert len(tokens) == (n if n >= 4 else 1)
    value, size = nested(tokens)
    assert size == len(tokens)
    depth = itertools.accumulate((10 <= t < 14) - (t == 14) for t in tokens)
    assert max(depth) <= 10
    return [value]


BEYOND = {
    "copy": copy,
    "multi_query_recall": multi_query_recall,
    "addition": addition(),
    "addition_reversed": addition("reversed"),
    "addition_reversed_hints": addition("reversed", "hints"),
    "scan": scan,
    "listops": listops,
}

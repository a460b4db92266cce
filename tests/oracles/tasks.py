"""Every task in plain Python: reads the tokens of an input, checks them, and answers.

Nothing here is shared with the package. An oracle takes the tokens and the sampled length n, and
returns the outputs up to |y|; it asserts that the input is one that the task may draw.
"""

import itertools
import math
from collections.abc import Callable, Sequence

from tests.oracles.beyond import BEYOND

Oracle = Callable[[Sequence[int], int], list[int]]


def check_bits(tokens: Sequence[int], length: int) -> None:
    assert len(tokens) == length
    assert set(tokens) <= {0, 1}


def even_pairs(tokens: Sequence[int], n: int) -> list[int]:
    check_bits(tokens, n)
    return [sum(a != b for a, b in itertools.pairwise(tokens)) % 2]


def modular_arithmetic_simple(tokens: Sequence[int], n: int) -> list[int]:
    assert len(tokens) == (n if n % 2 else n - 1)
    assert all(0 <= t <= 4 for t in tokens[0::2])
    assert all(5 <= t <= 7 for t in tokens[1::2])
    return [eval("".join("01234+-*"[t] for t in tokens)) % 5]


def parity_check(tokens: Sequence[int], n: int) -> list[int]:
    check_bits(tokens, n)
    return [tokens.count(1) % 2]


def cycle_navigation(tokens: Sequence[int], n: int) -> list[int]:
    assert len(tokens) == n
    place = 0
    for token in tokens:
        place = (place + {0: -1, 1: 0, 2: 1}[token]) % 5
    return [place]


def stack_manipulation(tokens: Sequence[int], n: int) -> list[int]:
    assert len(tokens) == n
    size = next((i for i, t in enumerate(tokens) if t > 1), n)
    assert 1 <= size <= max(n - 1, 1)
    stack = list(tokens[:size])
    for action in tokens[size:]:
        assert action in (2, 3, 4)
        if action > 2:
            stack.append(action - 3)
        elif stack:
            stack.pop()
    return [*reversed(stack), 2] + [0] * (n - len(stack))


def reverse_string(tokens: Sequence[int], n: int) -> list[int]:
    check_bits(tokens, n)
    return list(tokens[::-1])


def parse(tokens: Sequence[int], symbols: str, unknown: int = 0) -> int:
    """Recursive descent over the grammar of bracketed expressions; x has the value `unknown`."""
    string = "".join(symbols[t] for t in tokens)
    place = 0

    def take(options: str) -> str:
        nonlocal place
        assert place < len(string), string
        assert string[place] in options, (string, place)
        place += 1
        return string[place - 1]

    def digit() -> int:
        symbol = take("01234x")
        return unknown if symbol == "x" else int(symbol)

    def atom() -> int:
        if string[place : place + 1] == "-":
            take("-")
            return -digit()
        return digit()

    def expression() -> int:
        if string[place : place + 1] != "(":
            return atom()
        take("(")
        first = expression()
        bracketed_atom = string[place : place + 1] == ")" and string[place - 1] != ")"
        if bracketed_atom:
            take(")")
            return first
        operator = take("+-*")
        second = expression()
        take(")")
        return {"+": first + second, "-": first - second, "*": first * second}[operator]

    value = expression()
    assert place == len(string), f"trailing symbols in {string}"
    return value % 5


def modular_arithmetic(tokens: Sequence[int], n: int) -> list[int]:
    assert len(tokens) == n
    return [parse(tokens, "01234+-*()")]


def solve_equation(tokens: Sequence[int], n: int) -> list[int]:
    assert len(tokens) == n
    if n < 3:
        assert set(tokens) == {0}
        return [0]
    symbols = "01234+-()x="
    assert [i for i, t in enumerate(tokens) if symbols[t] == "="] == [n - 2]
    assert tokens.count(symbols.index("x")) == 1
    assert 0 <= tokens[-1] <= 4
    solutions = [x for x in range(5) if parse(tokens[:-2], symbols, x) == tokens[-1]]
    assert len(solutions) == 1
    return solutions


def duplicate_string(tokens: Sequence[int], n: int) -> list[int]:
    check_bits(tokens, n)
    return [*tokens, *tokens]


def missing_duplicate(tokens: Sequence[int], n: int) -> list[int]:
    assert len(tokens) == n
    if n == 1:
        assert list(tokens) == [1]
        return [1]
    if n % 2:
        assert tokens[-1] == 3
        tokens = tokens[:-1]
    assert tokens.count(2) == 1
    candidates = []
    for bit in (0, 1):
        filled = [bit if t == 2 else t for t in tokens]
        check_bits(filled, n - n % 2)
        if filled[: n // 2] == filled[n // 2 :]:
            candidates.append(bit)
    assert len(candidates) == 1
    return candidates


def odds_first(tokens: Sequence[int], n: int) -> list[int]:
    check_bits(tokens, n)
    return [*tokens[0::2], *tokens[1::2]]


def number(bits: Sequence[int]) -> int:
    check_bits(bits, len(bits))
    return sum(bit << i for i, bit in enumerate(bits))


def spelled(value: int) -> list[int]:
    return [int(bit) for bit in reversed(f"{value:b}")]


def operands(tokens: Sequence[int], n: int) -> tuple[int, int]:
    assert len(tokens) == n
    separator = tokens.index(2)
    first, second = tokens[:separator], tokens[separator + 1 :]
    assert len(first) >= 1
    assert len(second) >= 1
    assert number(first) >= 1
    assert number(second) >= 1
    return number(first), number(second)


def binary_addition(tokens: Sequence[int], n: int) -> list[int]:
    if n > 2:
        answer = spelled(sum(operands(tokens, n)))
    else:
        check_bits(tokens, n)
        assert number(tokens) <= 2**n - 2
        answer = spelled(number(tokens))
    return answer + [2] + [0] * (n - len(answer))


def binary_multiplication(tokens: Sequence[int], n: int) -> list[int]:
    if n > 2:
        answer = spelled(math.prod(operands(tokens, n)))
        return answer + [2] + [0] * (n - len(answer) - 1)
    check_bits(tokens, n)
    assert number(tokens) <= 2**n - 2
    return [0] * (n - 1) + [2]


def compute_sqrt(tokens: Sequence[int], n: int) -> list[int]:
    value = number(tokens[::-1])
    assert len(tokens) == n
    assert value >= 1
    return [int(bit) for bit in f"{math.isqrt(value):0{(n + 1) // 2}b}"]


def bucket_sort(tokens: Sequence[int], n: int) -> list[int]:
    assert len(tokens) == n
    assert set(tokens) <= set(range(5))
    return sorted(tokens)


MASKED = {"stack_manipulation", "binary_addition", "binary_multiplication"} | {
    name for name in BEYOND if name.startswith("addition")
}
"""The tasks whose outputs after the terminator do not count."""

ORACLES: dict[str, Oracle] = {
    oracle.__name__: oracle
    for oracle in (
        even_pairs,
        modular_arithmetic_simple,
        parity_check,
        cycle_navigation,
        stack_manipulation,
        reverse_string,
        modular_arithmetic,
        solve_equation,
        duplicate_string,
        missing_duplicate,
        odds_first,
        binary_addition,
        binary_multiplication,
        compute_sqrt,
        bucket_sort,
    )
} | BEYOND

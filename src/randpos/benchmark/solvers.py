"""Solves every task from its input tokens, independently of the code that samples them."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Int

from randpos.tasks import TASKS

Tokens = Int[np.ndarray, "examples input"]
Answers = Int[np.ndarray, "examples output"]
END = 2
"""The terminator of the tasks that have one."""


def _one(values: np.ndarray) -> np.ndarray:
    return values[:, None]


def even_pairs(inputs: Tokens, size: int) -> Answers:
    """Ends differ exactly if the number of changes is odd."""
    return _one((inputs[:, 0] != inputs[:, -1]).astype(int))


def parity_check(inputs: Tokens, size: int) -> Answers:
    """Parity of the sum."""
    return _one(inputs.sum(axis=1) % 2)


def cycle_navigation(inputs: Tokens, size: int) -> Answers:
    """Steps −1, 0 and +1 are tokens 0, 1 and 2."""
    return _one((inputs - 1).sum(axis=1) % 5)


def modular_arithmetic_simple(inputs: Tokens, size: int) -> Answers:
    """Keeps the sum of finished products and the current product, from left to right."""
    total = np.zeros(len(inputs), int)
    product = inputs[:, 0].astype(int)
    for place in range(1, inputs.shape[1], 2):
        plus, minus, times = (inputs[:, place] == token for token in (5, 6, 7))
        digit = inputs[:, place + 1]
        total = np.where(times, total, total + product) % 5
        product = np.select([plus, minus, times], [digit, -digit, product * digit]) % 5
    return _one((total + product) % 5)


def value(symbols: Sequence[str]) -> int:
    """Evaluates a fully bracketed expression modulo 5 with a stack; `(` marks where to return to.

    >>> value("((1+(3))*-2)")
    2
    """
    stack: list[int | str] = []
    for symbol in symbols:
        if symbol == ")":
            place = len(stack) - 1 - stack[::-1].index("(")
            inner, stack[place:] = stack[place + 1 :], []
            stack.append(_joined(inner))
        else:
            stack.append(int(symbol) if symbol.isdigit() else symbol)
        # A minus that follows nothing, a bracket or an operator is a sign.
        signed = len(stack) > 1 and stack[-2] == "-" and isinstance(stack[-1], int)
        if signed and (len(stack) == 2 or isinstance(stack[-3], str)):
            stack[-2:] = [-stack[-1] % 5]  # type: ignore[operator]
    return _joined(stack)


def _joined(parts: Sequence[int | str]) -> int:
    first, second = int(parts[0]), int(parts[-1])
    if len(parts) == 1:
        return first % 5
    return {"+": first + second, "-": first - second, "*": first * second}[str(parts[1])] % 5


def modular_arithmetic(inputs: Tokens, size: int) -> Answers:
    """Value of each expression."""
    symbols = np.array(list(TASKS["modular_arithmetic"].symbols))
    return np.array([[value(row)] for row in symbols[inputs].tolist()])


def solve_equation(inputs: Tokens, size: int) -> Answers:
    """The only x among the five digits that makes both sides equal; 0 below n = 3."""
    if inputs.shape[1] < 3:
        return np.zeros((len(inputs), 1), int)
    symbols = np.array(list(TASKS["solve_equation"].symbols))

    def solution(row: list[str]) -> int:
        left, right = row[:-2], int(row[-1])
        tried = ([str(digit) if s == "x" else s for s in left] for digit in range(5))
        return next(digit for digit, filled in enumerate(tried) if value(filled) == right)

    return np.array([[solution(row)] for row in symbols[inputs].tolist()])


def stack_manipulation(inputs: Tokens, size: int) -> Answers:
    """Runs the actions on a Python list."""
    answers = np.zeros((len(inputs), size), int)
    for answer, row in zip(answers, inputs.tolist(), strict=True):
        stack: list[int] = []
        for token in row:
            if token != 2:
                stack.append(token - 3 if token > 2 else token)
            elif stack:
                stack.pop()
        answer[: len(stack) + 1] = [*reversed(stack), END]
    return answers


def reverse_string(inputs: Tokens, size: int) -> Answers:
    """Backwards."""
    return inputs[:, ::-1]


def duplicate_string(inputs: Tokens, size: int) -> Answers:
    """Twice."""
    return np.tile(inputs, 2)


def missing_duplicate(inputs: Tokens, size: int) -> Answers:
    """The bit half a string away from the hidden one; 1 at n = 1."""
    half = inputs.shape[1] // 2
    if half == 0:
        return np.ones((len(inputs), 1), int)
    hidden = (inputs == 2).argmax(axis=1)
    return np.take_along_axis(inputs, _one((hidden + half) % (2 * half)), axis=1)


def odds_first(inputs: Tokens, size: int) -> Answers:
    """Odd places first, then even ones."""
    return np.concatenate([inputs[:, ::2], inputs[:, 1::2]], axis=1)


def scan(inputs: Tokens, size: int) -> Answers:
    """Rewrites the words of each command until only actions are left."""
    return np.array([[SCAN.index(action) for action in _actions(row)] for row in _words(inputs)])


SCAN = TASKS["scan"].output_symbols


def _words(inputs: Tokens) -> list[str]:
    symbols = np.array(list(TASKS["scan"].symbols))
    return ["".join(row).rstrip("_") for row in symbols[inputs].tolist()]


def _actions(command: str) -> str:
    """Returns the actions of a command.

    >>> _actions("jo<&w3"), _actions("w<;ta>2")
    ('<<jwww', '>>>>>>>><w')
    """
    for joint in "&;":
        first, found, second = command.partition(joint)
        if found:
            parts = _actions(first), _actions(second)
            return "".join(parts if joint == "&" else reversed(parts))
    if command[-1] in "23":
        return _actions(command[:-1]) * int(command[-1])
    act = command[0].replace("t", "")
    if len(command) == 1:
        return act
    turn, how = command[-1], command[1:-1]
    return {"": turn + act, "o": turn + turn + act, "a": 4 * (turn + act)}[how]


def listops(inputs: Tokens, size: int) -> Answers:
    """Evaluates each list with a stack of the lists that are open."""
    return np.array([[_listed(row)] for row in inputs.tolist()])


def _listed(row: Sequence[int]) -> int:
    stack: list[list[int]] = [[]]
    for token in row:
        if token < 10:
            stack[-1].append(token)
        elif token < 14:
            stack.append([token])
        else:
            operator, *values = stack.pop()
            order = sorted(values)
            middle = order[(len(order) - 1) // 2] + order[len(order) // 2]
            stack[-1].append((order[0], order[-1], middle // 2, sum(order) % 10)[operator - 10])
    return stack[0][0]


def _numbers(row: Sequence[int]) -> list[int]:
    """Returns the little-endian numbers of an input."""
    parts = "".join(map(str, row)).split("2")
    return [int(part[::-1], 2) for part in parts]


def _written(results: Sequence[int], size: int) -> Answers:
    """Writes numbers lowest bit first, then the terminator and zeros."""
    answers = np.zeros((len(results), size), int)
    for answer, result in zip(answers, results, strict=True):
        bits = [int(bit) for bit in f"{result:b}"[::-1]]
        answer[: len(bits) + 1] = [*bits, END]
    return answers


def binary_addition(inputs: Tokens, size: int) -> Answers:
    """The sum; below n = 3 the one number itself."""
    return _written([sum(_numbers(row)) for row in inputs.tolist()], size)


def binary_multiplication(inputs: Tokens, size: int) -> Answers:
    """The product; below n = 3 zeros and the terminator."""
    if size < 3:
        return np.broadcast_to([0] * (size - 1) + [END], (len(inputs), size))
    return _written([math.prod(_numbers(row)) for row in inputs.tolist()], size)


def compute_sqrt(inputs: Tokens, size: int) -> Answers:
    """The integer square root, highest bit first."""
    roots = (math.isqrt(int("".join(map(str, row)), 2)) for row in inputs.tolist())
    return np.array([[int(bit) for bit in f"{root:0{size}b}"] for root in roots])


def bucket_sort(inputs: Tokens, size: int) -> Answers:
    """Sorted."""
    return np.sort(inputs, axis=1)


SOLVERS: dict[str, Callable[[Tokens, int], Answers]] = {
    solver.__name__: solver
    for solver in (
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
        scan,
        listops,
    )
}
"""Maps inputs and the output length |y| to answers."""

"""The exact law of every task's inputs at short lengths: a probability per input.

Written from the definitions, by enumeration, with nothing of the package.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction

from tests.oracles.tasks import parse

Tokens = tuple[int, ...]
Law = dict[Tokens, Fraction]


def uniform(inputs: Iterable[Tokens]) -> Law:
    options = list(inputs)
    assert len(set(options)) == len(options)
    return {option: Fraction(1, len(options)) for option in options}


def mixture(laws: Iterable[Law]) -> Law:
    """One of the laws, each as likely, and then an input by it."""
    parts, mixed = list(laws), defaultdict(Fraction)
    for law in parts:
        for tokens, probability in law.items():
            mixed[tokens] += probability / len(parts)
    return dict(mixed)


def joined(*laws: Law) -> Law:
    """Independent draws, one after the other."""
    law: Law = {(): Fraction(1)}
    for part in laws:
        law = {a + b: p * q for a, p in law.items() for b, q in part.items()}
    return law


def strings(tokens: int) -> Callable[[int], Law]:
    return lambda n: uniform(itertools.product(range(tokens), repeat=n))


def digits_and_operators(n: int) -> Law:
    digit, operator = range(5), range(5, 8)
    places = n if n % 2 else n - 1
    return uniform(itertools.product(*([digit, operator] * n)[:places]))


def stack(n: int) -> Law:
    if n == 1:
        return strings(2)(1)
    action = uniform((token,) for token in (2, 3, 4))
    return mixture(joined(strings(2)(s), *[action] * (n - s)) for s in range(1, n))


def expression(n: int, symbols: str, operators: str) -> Law:
    opening, closing, minus = ({(symbols.index(c),): Fraction(1)} for c in "()-")
    digit = strings(5)(1)
    if n <= 4:
        return joined(*[(digit,), (minus, digit), (opening, digit, closing),
                        (opening, minus, digit, closing)][n - 1])  # fmt: skip
    operator = uniform((symbols.index(c),) for c in operators)
    inner = [expression(k, symbols, operators) for k in range(1, n - 3)]
    return mixture(
        joined(opening, inner[a - 1], operator, inner[n - 3 - a - 1], closing)
        for a in range(1, n - 3)
    )


def equation(n: int) -> Law:
    if n < 3:
        return {(0,) * n: Fraction(1)}
    symbols, law = "01234+-()x=", defaultdict(Fraction)
    for tokens, probability in expression(n - 2, symbols, "+-").items():
        for place in range(n - 2):
            hidden = place
            while tokens[hidden] > 4:
                hidden = (hidden + 1) % (n - 2)
            shown = (*tokens[:hidden], 9, *tokens[hidden + 1 :], 10, parse(tokens, symbols))
            law[shown] += probability / (n - 2)
    return dict(law)


def hidden_duplicate(n: int) -> Law:
    if n == 1:
        return {(1,): Fraction(1)}
    filler = (3,) * (n % 2)
    return uniform(
        (*(2 * half)[:place], 2, *(2 * half)[place + 1 :], *filler)
        for half in itertools.product(range(2), repeat=n // 2)
        for place in range(2 * (n // 2))
    )


def positive(n: int) -> Law:
    return uniform(bits for bits in strings(2)(n) if any(bits))


def two_numbers(n: int) -> Law:
    if n <= 2:
        return uniform(bits for bits in strings(2)(n) if not all(bits))
    separator = {(2,): Fraction(1)}
    return mixture(joined(positive(a), separator, positive(n - 1 - a)) for a in range(1, n - 1))


def shapes_of_lists(n: int) -> dict[str, Fraction]:
    """The law of the shapes of ListOps: `(` opens a list, `)` closes one, `d` is a digit."""
    law: dict[str, Fraction] = defaultdict(Fraction)

    def go_on(shape: str, lists: tuple[tuple[int, int], ...], probability: Fraction) -> None:
        """Goes on from open lists, each with its arguments so far and those that it asked for."""
        if not lists:
            assert len(shape) == n
            law[shape] += probability
            return
        left = n - len(shape)
        needed = sum(1 + max(0, 2 - arguments) for arguments, _ in lists)
        *outer, (arguments, asked) = lists
        must_close = arguments >= 2 and left == needed
        if must_close or (arguments >= 2 and outer and arguments >= asked):
            go_on(shape + ")", tuple(outer), probability)
            return
        more = (*outer, (arguments + 1, asked))
        # Two arguments and its end must fit behind a new list.
        after = sum(1 + max(0, 2 - k) for k, _ in more) + 3
        nests = Fraction(1, 4) if len(lists) < 10 and left - 1 >= after else Fraction(0)
        for number in range(2, 11) if nests else ():
            go_on(shape + "(", (*more, (0, number)), probability * nests / 9)
        go_on(shape + "d", more, probability * (1 - nests))

    for number in range(2, 11):
        go_on("(", ((0, number),), Fraction(1, 9))
    return dict(law)


LAWS: dict[str, Callable[[int], Law]] = {
    "even_pairs": strings(2),
    "modular_arithmetic_simple": digits_and_operators,
    "parity_check": strings(2),
    "cycle_navigation": strings(3),
    "stack_manipulation": stack,
    "reverse_string": strings(2),
    "modular_arithmetic": lambda n: expression(n, "01234+-*()", "+-*"),
    "solve_equation": equation,
    "duplicate_string": strings(2),
    "missing_duplicate": hidden_duplicate,
    "odds_first": strings(2),
    "binary_addition": two_numbers,
    "binary_multiplication": two_numbers,
    "compute_sqrt": positive,
    "bucket_sort": strings(5),
}

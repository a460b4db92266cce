"""What is drawn follows the stated law: whole inputs at short lengths, each choice at long ones."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from randpos.tasks import PAPER_TASKS, TASKS
from tests.oracles.laws import LAWS, shapes_of_lists
from tests.tasks.samplers import many_inputs

COUNT = 10_000
LEAST = 1e-4
"""The smallest p-value to accept. Keys are fixed, so a test passes always or never."""
FEWEST = 5
"""Expected counts that the chi-square test needs."""


@pytest.mark.parametrize("name", dict.fromkeys([*PAPER_TASKS, *LAWS]))
def test_short_inputs_follow_their_law(name):
    length = 0
    for length in range(1, 10 if name == "solve_equation" else 8):
        law = LAWS[name](length)
        if min(law.values()) * COUNT < FEWEST:
            break
        inputs = many_inputs(name, length, COUNT)
        seen = Counter(map(tuple, inputs.tolist()))
        assert set(seen) <= set(law)
        expected = [float(probability * len(inputs)) for probability in law.values()]
        if len(law) > 1:
            assert chisquare([seen[tokens] for tokens in law], expected).pvalue > LEAST, length
    assert length > 4, "too few lengths to see every choice"


def assert_uniform(values: np.ndarray, options: range) -> None:
    seen = np.array([np.sum(values == option) for option in options])
    assert seen.sum() == len(values), "a value outside of its range"
    assert chisquare(seen).pvalue > LEAST


def first_place(inputs: np.ndarray, tokens: list[int]) -> np.ndarray:
    """Returns the first place of one of the tokens in each row; the row's length if none."""
    found = np.isin(inputs, tokens)
    return np.where(found.any(axis=1), found.argmax(axis=1), inputs.shape[1])


def first_part_sizes(inputs: np.ndarray, opening: int, closing: int) -> np.ndarray:
    """Returns |A| of each (A op B)."""
    sizes = []
    for tokens in inputs.tolist():
        place = depth = 0
        negated = tokens[1] == 6
        while place == 0 or depth > 0:
            place += 1
            depth += (tokens[place] == opening) - (tokens[place] == closing)
        sizes.append(place + (1 if negated else 0))
    return np.array(sizes)


@pytest.mark.parametrize("length", [7, 40, 64])
def test_stack_sizes_are_uniform(length):
    inputs = many_inputs("stack_manipulation", length, COUNT)
    assert_uniform(first_place(inputs, [2, 3, 4]), range(1, length))
    assert_uniform(inputs[inputs > 1], range(2, 5))
    assert_uniform(inputs[inputs < 2], range(2))


@pytest.mark.parametrize("name", ["binary_addition", "binary_multiplication"])
@pytest.mark.parametrize("length", [7, 40, 64])
def test_operand_lengths_are_uniform(name, length):
    sizes = first_place(many_inputs(name, length, COUNT), [2])
    assert_uniform(sizes, range(1, length - 1))


@pytest.mark.parametrize("length", [9, 40, 63])
def test_hidden_places_are_uniform(length):
    inputs = many_inputs("missing_duplicate", length, COUNT)
    assert_uniform(first_place(inputs, [2]), range(2 * (length // 2)))


@pytest.mark.parametrize("length", [9, 40, 64])
def test_splits_operators_and_digits_are_uniform(length):
    inputs = many_inputs("modular_arithmetic", length, COUNT)
    assert_uniform(first_part_sizes(inputs, 8, 9), range(1, length - 3))
    assert_uniform(inputs[inputs < 5], range(5))
    assert_uniform(inputs[(inputs == 5) | (inputs == 7)], range(5, 8, 2))
    equations = many_inputs("solve_equation", length + 2, COUNT) if length < 60 else None
    if equations is not None:
        assert_uniform(first_part_sizes(equations[:, :-2], 7, 8), range(1, length - 3))


@pytest.mark.parametrize("name", ["even_pairs", "compute_sqrt", "bucket_sort", "cycle_navigation"])
def test_places_are_uniform_and_independent(name):
    inputs = many_inputs(name, 64, COUNT // 2)
    tokens = TASKS[name].tokens
    for place in range(64):
        assert_uniform(inputs[:, place], range(tokens))
        pairs = tokens * inputs[:, place] + inputs[:, (place + 32) % 64]
        assert_uniform(pairs, range(tokens**2))


@pytest.mark.parametrize(
    "length", [7, 10, *(pytest.param(n, marks=pytest.mark.slow) for n in (9, 13))]
)
def test_lists_follow_the_law_of_their_shapes(length):
    law = shapes_of_lists(length)
    assert sum(law.values()) == 1
    inputs = many_inputs("listops", length, COUNT)
    kinds = np.array(list("d" * 10 + "(" * 4 + ")"))[inputs]
    seen = Counter("".join(row) for row in kinds.tolist())
    assert set(seen) <= set(law)
    common = [shape for shape, chance in law.items() if chance * len(inputs) >= FEWEST]
    counts = [seen[shape] for shape in common]
    expected = [float(law[shape] * len(inputs)) for shape in common]
    rest = len(inputs) - sum(expected)
    if rest > FEWEST:
        counts, expected = [*counts, len(inputs) - sum(counts)], [*expected, rest]
    else:
        expected = [count * sum(counts) / sum(expected) for count in expected]
    assert len(common) > 2
    assert chisquare(counts, expected).pvalue > LEAST
    assert_uniform(inputs[inputs < 10], range(10))
    assert_uniform(inputs[(inputs >= 10) & (inputs < 14)], range(10, 14))


def assert_independent(choice: np.ndarray, symbol: np.ndarray) -> None:
    """Compares the symbols in each quarter of a choice's range."""
    quarter = 4 * choice // (choice.max() + 1)
    counts = np.zeros((4, symbol.max() + 1))
    np.add.at(counts, (quarter, symbol), 1)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    fitted = sum(counts.shape) - 2  # the margins
    assert chisquare(counts.ravel(), expected.ravel(), ddof=fitted).pvalue > LEAST


def test_the_hidden_place_tells_nothing_of_the_string():
    inputs = many_inputs("missing_duplicate", 64, COUNT)
    halves = inputs[:, :32], inputs[:, 32:]
    string = np.where(halves[0] == 2, halves[1], halves[0])
    for place in range(32):
        assert_independent(first_place(inputs, [2]), string[:, place])


@pytest.mark.parametrize("name", ["stack_manipulation", "binary_addition"])
def test_sizes_tell_nothing_of_the_symbols(name):
    inputs = many_inputs(name, 64, COUNT)
    size = first_place(inputs, [2, 3, 4])
    long = size > 31  # so that the first 32 places belong to the stack or the first number
    for place in range(32):
        assert_independent(size[long] - 32, inputs[long, place])
    # Conversely with the last place. (A short second number, being positive, tends to end in 1.)
    assert_independent(size[~long], inputs[~long, -1] - inputs[:, -1].min())

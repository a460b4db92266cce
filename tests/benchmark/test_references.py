"""Reference rows have the scores that theory gives them."""

import math
from collections import defaultdict

import numpy as np
import pytest

from randpos.benchmark import evaluate, perfect_oracle, random_guess, references
from randpos.benchmark.solvers import value
from randpos.errors import UserError
from randpos.tasks import PAPER_TASKS
from tests.oracles.laws import LAWS
from tests.oracles.tasks import ORACLES


@pytest.mark.parametrize("name", PAPER_TASKS)
def test_the_oracle_scores_100_at_every_length(name):
    lengths = [*range(1, 13), 40, 601]
    result = evaluate(references(name)["perfect-oracle"], name, lengths, count=8)
    assert {(a.accuracy, a.whole) for a in result.accuracies} == {(1.0, 1.0)}
    assert result.score == result.in_domain == 1.0


@pytest.mark.parametrize("name", ["reverse_string", "bucket_sort", "binary_addition"])
def test_a_guess_scores_chance(name):
    task, result = PAPER_TASKS[name], evaluate(random_guess(name), name, range(20, 50), count=30)
    # Terminators are never guessed: one per answer of about n tokens.
    expected = task.chance * (1 - (1 / 35 if task.terminator else 0))
    tokens = 30 * sum(int(task.output_length(n)) for n in range(20, 50))
    assert abs(np.mean([a.accuracy for a in result.accuracies]) - expected) < 5 / math.sqrt(tokens)


def sorted_place(n: int, place: int, below: int) -> float:
    """The probability that a place of n sorted uniform tokens is less than `below` of five."""
    p = below / 5
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(place + 1, n + 1))


def test_the_constant_answer_to_bucket_sort_scores_the_majority_of_each_place():
    n, shares = 20, []
    for place in range(n):
        under = [sorted_place(n, place, below) for below in range(6)]
        shares.append(max(np.diff(under)))
    result = evaluate(references("bucket_sort")["constant-answer"], "bucket_sort", [n], count=1000)
    assert abs(result.accuracies[0].accuracy - np.mean(shares)) < 0.015
    assert np.mean(shares) > 0.5  # far above the chance of 20 %


def test_the_constant_answer_to_modular_arithmetic_scores_its_most_frequent_value():
    law: dict[int, float] = defaultdict(float)
    for tokens, probability in LAWS["modular_arithmetic"](7).items():
        law[ORACLES["modular_arithmetic"](tokens, 7)[0]] += float(probability)
    model = references("modular_arithmetic")["constant-answer"]
    result = evaluate(model, "modular_arithmetic", [7], count=1000)
    assert max(law.values()) > 0.25
    assert abs(result.accuracies[0].accuracy - max(law.values())) < 5 * 0.5 / math.sqrt(1000)


@pytest.mark.parametrize("text", ["((1+(3))*-2)", "-4", "(-(1-3)*-(-2))", "(2-(-1))", "((3)-4)"])
def test_expressions_have_the_value_of_python(text):
    assert value(text) == eval(text) % 5


def test_a_task_without_an_oracle_is_a_sentence(monkeypatch):
    monkeypatch.chdir("examples")
    with pytest.raises(UserError, match="no oracle for my_task:Majority"):
        perfect_oracle("my_task:Majority")
    assert set(references("my_task:Majority")) == {"random-guess", "constant-answer"}

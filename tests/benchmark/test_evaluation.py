"""`evaluate` on models whose accuracy is known, and on models that misbehave."""

import math
import re

import numpy as np
import pytest

from randpos.benchmark import EvaluationError, evaluate, perfect_oracle
from randpos.errors import UserError

REVERSE = perfect_oracle("reverse_string")


def wrong_first(tokens: np.ndarray) -> np.ndarray:
    """Answers Reverse String with one mistake per string."""
    answers = REVERSE(tokens).copy()
    answers[:, 0] ^= 1
    return answers


def test_accuracy_score_and_in_domain_of_one_mistake_per_string():
    result = evaluate(wrong_first, "reverse_string", range(1, 9), count=10, training_length=3)
    table = result.table()
    assert table["length"].to_list() == list(range(1, 9))
    np.testing.assert_allclose(table["accuracy"], [1 - 1 / n for n in range(1, 9)])
    assert set(table["whole"]) == {0.0}
    assert result.score == pytest.approx(sum(1 - 1 / n for n in range(4, 9)) / 5)
    assert result.in_domain == pytest.approx((0 + 1 / 2 + 2 / 3) / 3)


def test_what_follows_the_terminator_does_not_count():
    oracle = perfect_oracle("stack_manipulation")

    def careless(tokens: np.ndarray) -> np.ndarray:
        answers = oracle(tokens).copy()
        ended = np.cumsum(answers == 2, axis=1) > 0
        return np.where(ended & (answers != 2), 1, answers)

    result = evaluate(careless, "stack_manipulation", [9], count=20)
    assert result.accuracies[0][1:3] == (1.0, 1.0)


def test_a_model_sees_the_same_examples_in_pieces():
    shapes = []

    def model(tokens: np.ndarray) -> np.ndarray:
        shapes.append(tokens.shape)
        answers = REVERSE(tokens).copy()
        answers[tokens[:, 0] == 1] = -1  # no class: always wrong
        return answers

    whole = evaluate(model, "reverse_string", [6], count=20)
    assert shapes == [(20, 12)]
    pieces = evaluate(model, "reverse_string", [6], count=20, batch=7)
    assert shapes[1:] == [(7, 12), (7, 12), (6, 12)]
    assert whole == pieces
    assert 0 < whole.accuracies[0].whole == whole.accuracies[0].accuracy < 1


def test_another_seed_is_another_test():
    def model(tokens: np.ndarray) -> np.ndarray:
        return np.zeros((len(tokens), tokens.shape[1] // 2), int)

    first, other = (evaluate(model, "reverse_string", [40], count=20, seed=s) for s in (0, 1))
    assert first != other


def failing(tokens: np.ndarray) -> np.ndarray:
    raise RuntimeError("out of memory\non the device")


BAD = {
    "shape": (lambda t: REVERSE(t)[:, :-1], r"shape \(5, 6\) .* return shape \(5, 7\)"),
    "tokens": (lambda t: t, r"shape \(5, 14\) .* return shape \(5, 7\)"),
    "nan": (lambda t: np.where(REVERSE(t) > 0, 1.0, math.nan), r"shape \(5, 7\) with NaN"),
    "logits": (lambda t: REVERSE(t) * 0.5, r"type float64 .* argmax"),
    "class": (lambda t: REVERSE(t) + 1, r"shape \(5, 7\) with class 2 .* classes 0\.\.1"),
    "none": (lambda t: None, r"shape \(\)"),
    "failure": (failing, r"failed .* \(RuntimeError: out of memory\\non the device\)"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_answer_is_a_sentence_and_loses_nothing(kind):
    model, words = BAD[kind]

    def good_before(tokens: np.ndarray) -> np.ndarray:
        return (model if tokens.shape[1] == 14 else REVERSE)(tokens)

    with pytest.raises(EvaluationError) as caught:
        evaluate(good_before, "reverse_string", [5, 6, 7, 8], count=5, training_length=5)
    message = str(caught.value)
    assert isinstance(caught.value, UserError)
    assert re.search(rf"^At length 7 the model .*{words}", message), message
    assert "tokens of shape (5, 14)" in message
    assert "\n" not in message
    assert [a.length for a in caught.value.result.accuracies] == [5, 6]
    assert caught.value.result.score == 1.0

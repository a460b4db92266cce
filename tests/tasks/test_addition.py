"""Decimal addition with every set of options, and what its numbers are drawn from."""

import itertools

import jax
import numpy as np
import pytest
from scipy.stats import chisquare

from randpos import UserError
from randpos.tasks import get_task
from randpos.tasks.addition import OPTIONS, VARIANTS
from randpos.tasks.render import show
from tests.cases import only
from tests.oracles.beyond import addition

SETS = [s for count in range(5) for s in itertools.combinations(OPTIONS, count)]
BATCH, LARGEST = 100, 12


SOME = [str(s) for s in SETS if len(s) in (0, 1, 4)]


@pytest.mark.parametrize("options", only(SOME, SETS), ids="_".join)
def test_every_set_of_options_agrees_with_the_oracle(options):
    task = get_task("_".join(["addition", *options]))
    sample = jax.jit(lambda key, n: task.sample(key, n, BATCH, LARGEST))
    for length in (1, 2, 7, LARGEST):
        inputs, outputs, counted = map(np.asarray, sample(jax.random.key(length), length))
        places, size = int(task.input_length(length)), int(task.output_length(length))
        answers = [addition(*options)(row, length) for row in inputs[:, :places].tolist()]
        np.testing.assert_array_equal(outputs[:, :size], answers)
        ends = [answer.index(10) + 1 for answer in answers]
        np.testing.assert_array_equal(counted.sum(axis=1), ends)
        assert not inputs[:, places:].any()
        assert not outputs[:, size:].any()


def test_operands_and_hints_are_uniform():
    task = VARIANTS["addition_hints"]
    sample = jax.jit(lambda key: task.sample(key, 3, 4000, 3).inputs)
    texts = ["".join(task.symbols[t] for t in row) for row in np.asarray(sample(jax.random.key(0)))]
    terms = [text.lstrip("_").split("+") for text in texts]
    digits = np.array([[len(a) // 2, len(b) // 2] for a, b in terms])
    # Three digits on a random side; one, two or three on the other.
    expected = {(3, 1): 1 / 6, (3, 2): 1 / 6, (3, 3): 1 / 3, (1, 3): 1 / 6, (2, 3): 1 / 6}
    seen = [np.all(digits == sizes, axis=1).sum() for sizes in expected]
    assert sum(seen) == len(terms)
    assert chisquare(seen, np.array(list(expected.values())) * len(terms)).pvalue > 1e-4
    lowest = [task.symbols.index(max(pair, key=len)[-2]) for pair in terms]
    assert chisquare(np.bincount(lowest)[-52:]).pvalue > 1e-4
    values = [int(a[1::2]) for a, _ in terms if len(a) == 6]
    assert chisquare(np.histogram(values, bins=9, range=(100, 1000))[0]).pvalue > 1e-4


def test_examples_read_as_sums():
    lines = show(VARIANTS["addition"], 4, 3, seed=1)
    for line in lines:
        terms, total = line.split(" → ")
        first, second = terms.strip("_").split("+")
        assert int(first) + int(second) == int(total.split(".")[0])


def test_options_have_one_order():
    with pytest.raises(UserError, match=r"Unknown task .* Known: addition, addition_hints, "):
        get_task("addition_hints_reversed")

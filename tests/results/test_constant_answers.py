"""The accuracy of the best constant answer, against exact probabilities."""

import polars as pl
import pytest

from randpos.results.constant_answers import LENGTHS, constant_answers, measured_accuracy
from randpos.tasks import PAPER_TASKS

EXACT = {
    ("even_pairs", 1): 1.0,  # one bit begins and ends
    ("parity_check", 40): 0.5,
    ("modular_arithmetic", 4): 0.2,  # (-d), with a uniform digit
    ("modular_arithmetic", 6): 0.2533,  # 0 by enumeration of all expressions
    ("bucket_sort", 20): 0.6941,  # by the binomial law of each place
    ("bucket_sort", 40): 0.7778,
}


@pytest.mark.parametrize(("task", "length"), EXACT)
def test_the_stored_accuracy_is_that_of_theory(task: str, length: int) -> None:
    found = constant_answers().filter(task=task, length=length)["accuracy"].item()
    assert found == pytest.approx(EXACT[task, length], abs=0.03)


def test_the_papers_tasks_have_all_lengths_up_to_the_papers() -> None:
    """For a task that the file does not have, the chance level counts."""
    found = dict(constant_answers().group_by("task").agg(pl.col("length").sort()).iter_rows())
    assert {name: found[name] for name in PAPER_TASKS} == dict.fromkeys(PAPER_TASKS, LENGTHS)
    assert LENGTHS[-1] == 500


def test_accuracies_are_measured_on_examples() -> None:
    assert measured_accuracy("even_pairs", 1) == 1.0
    assert measured_accuracy("modular_arithmetic", 6) == pytest.approx(0.2533, abs=0.03)

"""The paper's statements: an own count beside the library's, and which of them come out."""

import polars as pl
import pytest

from randpos.paper import PLAIN, RANDOMIZED, STATEMENTS, claims, gains, published_value, statements
from randpos.tasks import PAPER_TASKS

NOT_RECOVERED = {
    "unsorted_above_chance": 2.0,
    "speedup": 7.62,
    "steps_per_second_short": 312.1,
}


def cell(task: str, encoding: str) -> float:
    value = published_value("scores", task, encoding)
    assert value is not None
    return value


def test_every_statement_is_a_claim():
    assert set(STATEMENTS) <= set(claims()["name"])
    assert statements()["name"].to_list() == list(STATEMENTS)


def test_what_cannot_be_recovered_is_said():
    lost = statements().filter(~pl.col("recovered"))
    assert dict(lost.select("name", "recomputed").iter_rows()) == pytest.approx(
        NOT_RECOVERED, abs=0.05
    )


def test_recovered_numbers_round_to_the_published_ones():
    rows = statements().filter("recovered")
    assert rows.height == len(STATEMENTS) - len(NOT_RECOVERED)
    assert (rows["recomputed"] - rows["published"]).abs().max() == pytest.approx(0.0467, abs=1e-3)


def test_the_average_gain_counts_the_model_without_encoding_and_all_tasks():
    def gain(theirs: list[str], tasks: list[str]) -> float:
        every = [
            max(cell(task, name) for name in RANDOMIZED) - max(cell(task, name) for name in theirs)
            for task in tasks
        ]
        return sum(every) / len(every)

    ordered = [name for name, task in PAPER_TASKS.items() if not task.permutation_invariant]
    published = statements().filter(name="gain_mean")["recomputed"].item()
    assert published == pytest.approx(gain([*PLAIN], [*PAPER_TASKS]))
    # The aggregations that one might also think of do not give 12.0.
    assert gain([*PLAIN[1:]], [*PAPER_TASKS]) == pytest.approx(13.66)
    assert gain([*PLAIN], ordered) == pytest.approx(13.23, abs=0.01)


def test_gains_compare_the_best_of_each_side():
    results = pl.DataFrame(
        [("a", "x", 0.5), ("a", "y", 0.7), ("a", "z", 0.4), ("b", "x", 0.2), ("b", "z", 0.9)],
        schema=["task", "encoding", "value"],
        orient="row",
    )
    assert dict(gains(results, ["x", "y"], ["z"]).iter_rows()) == pytest.approx(
        {"a": 0.3, "b": -0.7}
    )


def test_a_task_that_lacks_a_side_has_no_gain():
    results = pl.DataFrame({"task": ["a"], "encoding": ["x"], "value": [0.5]})
    assert gains(results, ["x"], ["z"]).is_empty()

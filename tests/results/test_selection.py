"""Which runs may be compared, and what is said about them."""

from typing import Any

import polars as pl
import pytest

from randpos.results.scores import counted_runs, score_runs
from randpos.results.selection import (
    budgets,
    like_with_like,
    seeds_note,
    select,
    usual_positions,
    within,
)
from randpos.results.tables.encodings import geometric, sorting
from tests.results.stores import run, scored

RANDOMIZED = "randomized-relative"


def store(*kinds: dict[str, Any]) -> pl.DataFrame:
    """Scored runs on even_pairs unless a kind says otherwise."""
    usual: dict[str, Any] = {"task": "even_pairs", "encoding": RANDOMIZED}
    return score_runs(scored([(run(**usual | kind), 0.5) for kind in kinds]))


def test_of_equally_many_cells_the_papers_model_and_more_steps_come_first() -> None:
    found = store(
        {"steps": 100},
        {"steps": 5000, "training_length": 20},
        {"steps": 9000, "config": {"clip": 0.5}},
        {"steps": 2000},
    )
    assert [budget.steps for budget in budgets(found)] == [2000, 100, 5000, 9000]
    assert within(found, budgets(found)[0])["steps"].to_list() == [2000]
    assert within(found, None).is_empty()


def test_the_budget_of_the_most_cells_comes_first() -> None:
    # A few long runs must not hide a whole table of shorter ones.
    many = [{"encoding": name, "steps": 100} for name in ("none", "rope", RANDOMIZED)]
    found = store(*many, {"steps": 9000})
    assert [budget.steps for budget in budgets(found)] == [100, 9000]


def test_cells_with_an_interval_count_more_than_cells() -> None:
    three = [{"seed": seed, "steps": 50} for seed in range(3)]
    many = [{"encoding": name, "steps": 100} for name in ("none", "rope", RANDOMIZED)]
    assert [budget.steps for budget in budgets(store(*many, *three))] == [50, 100]
    assert [budget.steps for budget in budgets(store(*many, *three[:2]))] == [100, 50]


def test_an_ablation_takes_the_budget_of_the_most_values_and_then_of_the_most_runs() -> None:
    two_tasks = [
        {"task": task, "maximum": maximum, "steps": 9000}
        for task in ("even_pairs", "bucket_sort")
        for maximum in (512, 2048)
    ]
    five = [{"maximum": 2**power, "steps": 100} for power in range(9, 14)]
    found = store(*two_tasks, *five)
    assert [budget.steps for budget in budgets(found)] == [9000, 100]
    assert [budget.steps for budget in budgets(found, ["maximum"])] == [100, 9000]
    seeds = [kind | {"steps": 50, "seed": seed} for kind in five for seed in (0, 1)]
    assert [b.steps for b in budgets(store(*five, *seeds), ["maximum"])] == [50, 100]


def test_decoders_come_after_the_models_that_the_paper_has() -> None:
    decoder: dict[str, Any] = {"steps": 100, "config": {"answers": "autoregressive"}}
    many = [{"encoding": name, **decoder} for name in ("none", "rope", RANDOMIZED)]
    assert [budget.steps for budget in budgets(store(*many, {"steps": 50}))] == [50, 100]


def test_one_maximum_serves_all_encodings_of_a_task_that_of_the_most() -> None:
    small = [{"encoding": f"randomized-{name}", "maximum": 512} for name in ("rope", "sincos")]
    found = usual_positions(store(*small, {"maximum": 2048}, {"task": "bucket_sort", "maximum": 9}))
    assert sorted(found["maximum"].drop_nulls()) == [9, 512, 512]
    # Of equally many encodings the paper's L is kept.
    tied = usual_positions(store({"maximum": 512}, {"maximum": 2048}))
    assert tied["maximum"].to_list() == [2048]


def test_the_reading_of_the_papers_text_is_preferred() -> None:
    kinds = [{"reading": "released"}, {}, {"draw": "per_layer"}]
    found = usual_positions(store(*kinds, {**kinds[0], "task": "bucket_sort"}))
    assert found.select("reading", "draw").rows() == [("positions", "per_batch")]


def test_only_seeds_and_rates_that_all_have_are_compared() -> None:
    kinds = [("none", 0, 1e-4), ("none", 1, 1e-4), ("rope", 1, 1e-4), ("rope", 2, 1e-4)]
    found = store(*({"encoding": e, "seed": s, "rate": r} for e, s, r in kinds))
    shared = like_with_like(counted_runs(found), ["encoding"], ["task"])
    assert set(shared.select("encoding", "seed").iter_rows()) == {("none", 1), ("rope", 1)}
    assert shared["alike"].all()


def test_where_nothing_is_shared_all_runs_stay_and_are_marked() -> None:
    found = store({"encoding": "none"}, {"encoding": "rope", "seed": 1})
    shared = like_with_like(counted_runs(found), ["encoding"], ["task"])
    assert shared["alike"].to_list() == [False, False]


def test_the_number_of_seeds_is_that_of_each_cell() -> None:
    lone = [{"task": task} for task in ("even_pairs", "bucket_sort")]
    found = store(*lone, {"task": "reverse_string"}, {"task": "reverse_string", "seed": 1})
    assert seeds_note(found) == (
        "1 seed × 1 rate in 2 cells (Even Pairs, Bucket Sort); "
        "2 seeds × 1 rate in 1 cell (Reverse String)."
    )
    assert seeds_note(found.head(1)) == "1 seed × 1 rate in every cell."


@pytest.mark.parametrize("status", ["diverged", "failed"])
def test_runs_that_did_not_complete_are_left_out(status: str) -> None:
    found = store({}, {"seed": 1, "status": status})
    chosen, notes = select(found, found, None)
    assert chosen["seed"].to_list() == [0]
    assert any("1 run that diverged" in note for note in notes) == (status == "diverged")


@pytest.mark.parametrize(
    ("encoding", "table"), [("unsorted-sincos", sorting), ("geometric", geometric)]
)
def test_a_table_about_one_encoding_takes_a_budget_that_has_it(encoding: str, table: Any) -> None:
    # The better evidence of another budget must not hide the row that the table is about.
    better = [{"encoding": "randomized-sincos", "steps": 50, "seed": seed} for seed in range(3)]
    beside = [{"encoding": name, "steps": 100} for name in ("randomized-sincos", encoding)]
    assert "100 steps" in table(store(*better, *beside)).notes[0]
    assert "50 steps" in table(store(*better)).notes[0]

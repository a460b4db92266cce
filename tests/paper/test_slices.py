"""The named experiments, and slices of them."""

import dataclasses

import pytest

from randpos import UserError
from randpos.paper.artifacts import TABLE_1, paper_experiments
from randpos.paper.slices import Slice, expand
from randpos.tasks import PAPER_TASKS


def settings(name: str, **options) -> set[tuple]:
    found = expand(name, Slice(**options))
    return {(e.task, e.encoding, e.seed, e.learning_rate) for e in found}


def test_table_1_is_every_task_with_every_row_seed_and_rate():
    wanted = {
        (task, encoding, seed, rate)
        for task in PAPER_TASKS
        for encoding in TABLE_1
        for seed in range(10)
        for rate in (1e-4, 3e-4, 5e-4)
    }
    assert len(wanted) == 4950
    assert settings("table1", budget="paper") == wanted


def test_the_other_experiments_of_the_paper():
    efficiency = expand("efficiency", Slice("paper"))
    assert len(efficiency) == 60
    assert {(e.encoding, e.lengths.maximum) for e in efficiency} == {
        ("relative", 500),
        ("randomized-relative", 40),
    }
    swept = expand("max-position", Slice("paper", tasks=("reverse_string",)))
    assert len(swept) == 120
    assert {e.positions.maximum for e in swept} == {1024, 2048, 4096, 8192}


def test_without_a_budget_a_table_takes_the_small_one():
    part = Slice(tasks=("even_pairs",), encodings=("rope",))
    assert expand("table1", part) == expand("table1", dataclasses.replace(part, budget="laptop"))


def test_all_is_what_the_paper_has():
    part = Slice(budget="smoke")
    union = {e.digest for name in paper_experiments() for e in expand(name, part)}
    assert {e.digest for e in expand("all", part)} == union


def test_decoders_are_no_part_of_all():
    decoders = expand("decoder", Slice(budget="smoke"))
    assert {e.answers for e in decoders} == {"autoregressive"}
    assert len(decoders) == 15 * 11
    additions = expand("addition", Slice(budget="smoke"))
    assert {(e.lengths.maximum, e.test_length) for e in additions} == {(10, 30)}
    assert len(additions) == 3 * 7
    longer = expand("addition", Slice(budget="smoke", test_length=50))
    assert {(e.lengths.maximum, e.test_length) for e in longer} == {(10, 50)}
    everything = expand("all", Slice(budget="smoke"))
    assert {e.answers for e in everything} == {"parallel"}


def test_other_tasks_have_lengths_of_their_own():
    found = expand("other-tasks", Slice(budget="laptop"))
    assert {(e.task, e.lengths.maximum, e.test_length) for e in found} == {
        ("scan", 22, 48),
        ("listops", 40, 200),
    }
    assert {e.encoding for e in found} == set(TABLE_1)
    assert len(found) == 2 * 11


def test_a_slice_asks_for_less_or_for_other_encodings_of_table_1():
    part = {
        "tasks": ("even_pairs",),
        "encodings": ("fire", "label"),
        "seeds": (3,),
        "rates": (1.0,),
    }
    assert settings("table1", **part) == {
        ("even_pairs", "fire", 3, 1.0),
        ("even_pairs", "randomized-learned", 3, 1.0),
    }


def test_elsewhere_a_slice_only_leaves_encodings_out():
    part = {"budget": "smoke", "tasks": ("even_pairs",)}
    found = settings("geometric", **part, encodings=("geometric", "rope"))
    assert {encoding for _, encoding, *_ in found} == {"geometric"}
    with pytest.raises(UserError, match="geometric has no runs with even_pairs, rope"):
        expand("geometric", Slice(**part, encodings=("rope",)))


def test_a_slice_leaves_out_what_a_grid_is_fixed_to():
    for part in (Slice(tasks=("even_pairs",)), Slice(encodings=("rope",))):
        with pytest.raises(UserError, match="efficiency has no runs with"):
            expand("efficiency", part)
    everything = settings("all", budget="smoke", tasks=("even_pairs",), encodings=("rope",))
    assert {found[:2] for found in everything} == {("even_pairs", "rope")}


def test_a_model_is_tested_at_all_lengths_that_it_was_trained_on():
    assert {e.test_length for e in expand("efficiency", Slice(budget="smoke"))} == {60, 500}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"encodings": ("rotary",)}, "Unknown encoding 'rotary'"),
        ({"steps": 0}, "steps=0 must be at least 1"),
        ({"examples": 0}, "evaluation.batch=0 must be at least 1"),
    ],
)
def test_bad_slices_get_a_sentence(bad, message):
    with pytest.raises(UserError, match=message):
        expand("table1", Slice(**bad))


def test_an_unknown_experiment_gets_a_suggestion():
    with pytest.raises(UserError, match="did you mean 'table1'"):
        expand("tabel1", Slice())

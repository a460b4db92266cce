"""Grids: what they expand to, from files too, and the paper's own."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from randpos import Experiment, UserError, preset
from randpos.paper.artifacts import experiments, paper_experiments
from randpos.paper.slices import RATES, Slice, expand
from randpos.plain_data import flat
from randpos.sweeps.grid import MAX_RUNS, Grid, distinct, groups, read_grid
from tests.experiments import tiny

BASE = flat(tiny().to_dict())
VALUES = {
    "task": ["reverse_string", "even_pairs", "bucket_sort"],
    "encoding": ["none", "rope", "sincos", "randomized-sincos"],
    "seed": list(range(5)),
    "learning_rate": [1e-4, 3e-4, 1.0],
    "positions.maximum": [32, 64, 128],
    "evaluation.stride": [1, 2, 3],
    "model.layers": [1, 2],
}


@st.composite
def some_axes(draw) -> dict[str, list]:
    chosen = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True, max_size=3))
    return {
        name: draw(st.lists(st.sampled_from(VALUES[name]), min_size=1, max_size=3))
        for name in chosen
    }


def value(case: Experiment, name: str):
    """The setting of an experiment under a flat name."""
    for part in name.split("."):
        case = getattr(case, part)
    return case


def nested(settings: dict) -> list[tuple]:
    """All combinations by plain loops over loops, the last axis varying fastest."""
    found = [()]
    for values in settings.values():
        found = [(*before, value) for before in found for value in values]
    return found


@given(some_axes())
def test_a_grid_is_the_product_of_its_axes_in_order(axes):
    found = Grid("mine", {"steps": 7}, axes).expand(BASE)
    assert [tuple(value(case, name) for name in axes) for case in found] == nested(axes)
    assert {case.steps for case in found} == {7}
    rest = set(BASE) - set(axes) - {"steps"}
    assert all(value(case, name) == BASE[name] for case in found for name in rest)


@given(some_axes())
def test_expanding_twice_gives_the_same_and_changes_nothing(axes):
    grid, before = Grid("mine", {}, axes), dict(BASE)
    assert grid.expand(BASE) == grid.expand(BASE)
    assert before == BASE


def test_a_grid_overrides_its_base_and_an_axis_what_is_fixed():
    grid = Grid("mine", {"steps": 2, "seed": 1}, {"seed": [3]})
    (case,) = grid.expand({**BASE, "steps": 1, "batch": 5})
    assert (case.steps, case.batch, case.seed) == (2, 5, 3)


@pytest.mark.parametrize("case", [Experiment(), tiny(), preset("smoke")])
def test_flat_settings_make_the_same_experiment_again(case):
    assert Grid("again", flat(case.to_dict())).expand() == [case]


@given(
    st.lists(st.tuples(*(st.sampled_from(VALUES[n]) for n in ("seed", "learning_rate", "task"))))
)
def test_groups_are_the_runs_that_differ_in_seed_and_rate_only(chosen):
    runs = [tiny(seed=s, learning_rate=r, task=t) for s, r, t in chosen]
    found = groups(runs)
    assert Counter(case for group in found for case in group) == Counter(runs)
    assert [{case.task for case in group} for group in found] == [{t} for t in _firsts(runs)]


def _firsts(runs: list[Experiment]) -> list[str]:
    return list(dict.fromkeys(case.task for case in runs))


@pytest.mark.parametrize("change", [{"steps": 61}, {"encoding": "rope"}, {"clip": 2.0}])
def test_runs_that_differ_in_more_are_in_groups_of_their_own(change):
    assert len(groups([tiny(), tiny(seed=1), tiny(**change)])) == 2


def test_repeated_runs_count_once_in_the_order_of_the_first():
    runs = [tiny(seed=seed) for seed in (2, 1, 2, 0, 1)]
    assert [case.seed for case in distinct(runs)] == [2, 1, 0]


# Grid files.

GRID = """
[fixed]
steps = 60
positions.maximum = 32
"test_length" = 6
[fixed.model]
layers = 1
[axes]
task = ["reverse_string", "even_pairs"]
"lengths.maximum" = [4, 5]
[axes.evaluation]
stride = [1, 2]
"""


def test_a_file_may_nest_and_dot(tmp_path):
    (tmp_path / "grid.toml").write_text(GRID)
    grid = read_grid(tmp_path / "grid.toml")
    assert grid.name == "grid.toml"
    fixed = {"steps": 60, "positions.maximum": 32, "test_length": 6, "model.layers": 1}
    assert fixed.items() <= grid.fixed.items()
    found = grid.expand()
    wanted = itertools.product(["reverse_string", "even_pairs"], [4, 5], [1, 2])
    assert [(e.task, e.lengths.maximum, e.evaluation.stride) for e in found] == list(wanted)
    assert {(e.positions.maximum, e.model.layers) for e in found} == {(32, 1)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps = ", "is not valid TOML"),
        ("\x00", "is not valid TOML"),
        ("a = " + "[" * 5000, "is not valid TOML"),
        ("steps = 5", "unknown entry 'steps'; it may have: fixed, axes"),
        ("fixed = 5", "fixed must be a table"),
        ("axes = []", "axes must be a table"),
        ("[axes]\nseed = 3", "seed must be a list of values, not 3"),
        ("[axes]\nseed = []", r"seed must be a list of values, not \[\]"),
        ("[axes]\ntask = 'even_pairs'", "task must be a list of values"),
        ("[axes]\nseed = [-1]", "seed=-1 must lie between"),
        ("[axes]\nseed = [1.5]", "seed=1.5 must be of type int"),
        ("[axes]\nseed = [[1]]", "must be of type int"),
        ("[axes]\ncolour = ['red']", "no field 'colour'"),
        ("[axes]\n'' = [1]", "no field ''"),
        ("[axes]\n'model.' = [1]", "no field ''"),
        ("[axes]\nmodel = [1]", "experiment.model must be a table of fields, not 1"),
        ("[fixed]\nsteps.many = 3", "steps.many cannot be set: steps is a value"),
        ("[fixed]\nseed = 1979-05-27", "must be of type int"),
        ("[fixed]\nclip = nan", "clip=nan must be a positive number"),
        (f"[axes]\nseed = {list(range(400))}\nbatch = {list(range(1, 400))}", "159,600 runs; a"),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path, text, message):
    (tmp_path / "grid.toml").write_text(text)
    with pytest.raises(UserError, match=message) as error:
        read_grid(tmp_path / "grid.toml").expand(BASE)
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_text_is_one_sentence(tmp_path):
    (tmp_path / "grid.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"grid\.toml is not valid TOML"):
        read_grid(tmp_path / "grid.toml")


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match=r"grid\.toml cannot be used: No such file"):
        read_grid(tmp_path / "grid.toml")


def test_a_large_grid_is_allowed_up_to_its_limit():
    with pytest.raises(UserError, match=f"a grid may have {MAX_RUNS:,}"):
        Grid("mine", {}, {"seed": range(MAX_RUNS + 1)}).expand()


# The paper's experiments: the counts are those of its section 4 and appendix.


def test_the_paper_has_as_many_runs_as_it_says():
    runs, counts = set(), []
    for name in ("table1", "geometric", "ablation-sorting"):
        runs |= {case.digest for case in expand(name, Slice("paper"))}
        counts.append(len(runs))
    # 15 tasks, 11 encodings, 3 rates and 10 seeds; one more encoding; unsorted positions.
    assert 15 * 11 * 3 * 10 == 4950
    assert counts == [4950, 5400, 5850]


@pytest.mark.parametrize("name", ["table-means", "running-times", "curves"])
def test_what_reads_the_runs_of_table_1_asks_for_no_others(name):
    part = Slice(seeds=(0,), rates=(1e-4,))
    assert expand(name, part) == expand("table1", part)


@pytest.mark.parametrize("name", [*experiments()])
@pytest.mark.parametrize("budget", ["smoke", "laptop"])
def test_every_experiment_expands_to_valid_runs_without_repetitions(name, budget):
    found = expand(name, Slice(budget=budget))
    assert found
    assert len({case.digest for case in found}) == len(found)
    assert {case.steps for case in found} == {preset(budget).steps}


def test_all_is_every_experiment_of_the_paper():
    part = Slice(budget="smoke")
    each = {case.digest for name in paper_experiments() for case in expand(name, part)}
    assert {case.digest for case in expand("all", part)} == each


def test_an_unknown_experiment_is_refused_with_the_known():
    with pytest.raises(UserError, match=r"Unknown experiment 'table9'.*table1"):
        expand("table9", Slice())


def test_a_slice_is_what_is_left_of_each_axis():
    part = Slice(tasks=("even_pairs",), encodings=("rope", "none"), seeds=(3,), rates=(1e-3, 1e-2))
    found = [(e.task, e.encoding, e.learning_rate, e.seed) for e in expand("table1", part)]
    wanted = itertools.product(["even_pairs"], ["rope", "none"], [1e-3, 1e-2], [3])
    assert sorted(found) == sorted(wanted)


def test_without_seeds_and_rates_a_slice_takes_the_budgets():
    found = expand("table1", Slice("paper", tasks=("even_pairs",), encodings=("rope",)))
    assert {(e.seed, e.learning_rate) for e in found} == set(
        itertools.product(range(10), RATES["paper"])
    )


def test_a_slice_changes_the_budget():
    part = Slice("laptop", ("even_pairs",), ("rope",), (), (), 7, 9, 123, 11, 13)
    (case,) = expand("table1", part)
    assert (case.steps, case.batch, case.test_length) == (7, 9, 123)
    assert (case.evaluation.stride, case.evaluation.batch) == (11, 13)


@pytest.mark.parametrize(
    ("budget", "rate"), [(None, 3e-4), ("smoke", 3e-4), ("laptop", 5e-4), ("paper", 3e-4)]
)
def test_a_grid_file_has_the_runs_that_it_names_and_no_others(tmp_path, budget, rate):
    """The one rate is that of the budget, as all settings that the file does not name."""
    (tmp_path / "grid.toml").write_text("[axes]\nencoding = ['rope', 'none']\nseed = [0, 1]\n")
    found = Slice(budget=budget).expand(read_grid(tmp_path / "grid.toml"))
    assert [(e.encoding, e.seed, e.learning_rate) for e in found] == [
        *(("rope", 0, rate), ("rope", 1, rate), ("none", 0, rate), ("none", 1, rate))
    ]


def test_a_grid_files_own_seeds_stand_unless_the_slice_has_others(tmp_path):
    (tmp_path / "grid.toml").write_text("[axes]\nseed = [7, 8]\n[fixed]\nlearning_rate = 0.5\n")
    grid = read_grid(tmp_path / "grid.toml")
    assert {(e.seed, e.learning_rate) for e in Slice().expand(grid)} == {(7, 0.5), (8, 0.5)}
    assert {e.seed for e in Slice(seeds=(1,)).expand(grid)} == {1}
    other = Slice(budget="smoke", rates=(0.25,)).expand(grid)
    assert {(e.steps, e.learning_rate) for e in other} == {(20, 0.25)}


@pytest.mark.parametrize("parts", [300, 5000])
def test_a_name_of_too_many_parts_is_a_sentence(tmp_path, parts):
    (tmp_path / "grid.toml").write_text(f"[fixed]\n{'.'.join('a' * parts)} = 1\n")
    with pytest.raises(UserError, match=r"too deep|has no field 'a'"):
        read_grid(tmp_path / "grid.toml").expand()

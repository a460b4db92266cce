"""What a sweep finds in a store, and how it cuts the rest into jobs."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from randpos import Evaluation, PositionOptions, UserError
from randpos.store.tables import pack, read_store
from randpos.sweeps import estimate
from randpos.sweeps.plan import make_jobs, make_plan
from randpos.training.tested_lengths import earlier_lengths, lengths_to_test
from tests.experiments import tiny
from tests.sweeps.synthetic import write_run

RUNS = [tiny(seed=seed) for seed in range(8)]


def seeds(runs) -> list[int]:
    return [experiment.seed for experiment in runs]


def files(folder) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def store(tmp_path):
    """Seed 0 is tested, 1 diverged, 2 failed, 3 is under way, 4 trained, 5 half tested."""
    write_run(tmp_path, RUNS[0])
    write_run(tmp_path, RUNS[1], "diverged")
    write_run(tmp_path, RUNS[2], "failed", reason="out of luck")
    write_run(tmp_path, RUNS[3], "unfinished")
    write_run(tmp_path, RUNS[4], lengths=[])
    write_run(tmp_path, RUNS[5], lengths=[1, 2, 3])
    return tmp_path


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (tiny(task="reverse"), "Unknown task 'reverse'"),
        (tiny(positions=PositionOptions(maximum=9)), "L=9 is too small for reverse_string"),
    ],
)
def test_a_run_that_cannot_be_trained_is_refused_before_any_work(tmp_path, bad, message):
    with pytest.raises(UserError, match=message):
        make_plan([RUNS[0], bad], tmp_path / "new")


def test_done_failed_and_missing_are_told_apart(store):
    before = files(store)
    plan = make_plan(RUNS, store)
    assert seeds(plan.done) == [0, 1]
    assert [(experiment.seed, why) for experiment, why in plan.failed] == [(2, "out of luck")]
    assert seeds(plan.missing) == [3, 4, 5, 6, 7]
    assert files(store) == before


@pytest.mark.parametrize(("lengths", "done"), [([1, 4, 5, 6], True), ([1, 4, 5], False)])
def test_a_packed_run_that_was_tested_at_the_lengths_of_the_earlier_rule_is_done(
    tmp_path, lengths, done
):
    strided = tiny(evaluation=Evaluation(stride=2, batch=16))
    assert (earlier_lengths(strided), lengths_to_test(strided)) == ([1, 4, 5, 6], [*range(1, 7)])
    write_run(tmp_path / "runs", strided, lengths=lengths)
    pack(read_store(tmp_path / "runs"), tmp_path / "packed")
    plan = make_plan([strided], tmp_path / "packed")
    assert (plan.done, plan.missing) == (([strided], []) if done else ([], [strided]))


def test_failed_runs_are_missing_when_they_are_retried_and_nothing_is_written(store):
    before = files(store)
    plan = make_plan(RUNS, store, retry_failed=True)
    assert seeds(plan.missing) == [2, 3, 4, 5, 6, 7]
    assert plan.failed == []
    assert files(store) == before


def test_a_store_that_is_not_there_misses_everything(tmp_path):
    assert make_plan(RUNS, tmp_path / "none").missing == RUNS
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("asked", "done"),
    [
        (Evaluation(stride=1, batch=16), True),
        (Evaluation(stride=3, batch=16), True),
        (Evaluation(stride=1, batch=17), False),
        (Evaluation(stride=1, batch=16, seed=1), False),
        (Evaluation(stride=1, batch=16, draws=2), False),
    ],
)
def test_a_run_is_done_when_it_was_tested_as_is_asked(tmp_path, asked, done):
    write_run(tmp_path, RUNS[0])
    experiment = dataclasses.replace(RUNS[0], evaluation=asked)
    assert bool(make_plan([experiment], tmp_path).done) == done


def test_a_denser_test_that_is_asked_for_later_is_missing(tmp_path):
    coarse = dataclasses.replace(RUNS[0], evaluation=Evaluation(stride=5, batch=16))
    write_run(tmp_path, coarse)
    assert make_plan([coarse], tmp_path).done == [coarse]
    assert make_plan([RUNS[0]], tmp_path).missing == [RUNS[0]]


def test_what_is_packed_counts(store, tmp_path_factory):
    packed = tmp_path_factory.mktemp("packed")
    pack(read_store(store), packed)
    assert make_plan(RUNS, packed) == make_plan(RUNS, store)


def test_a_packed_run_that_is_trained_again_still_counts(tmp_path):
    write_run(tmp_path / "old", RUNS[0])
    pack(read_store(tmp_path / "old"), tmp_path / "new")
    write_run(tmp_path / "new", RUNS[0], "unfinished")
    assert make_plan([RUNS[0]], tmp_path / "new").done == [RUNS[0]]


some_runs = st.lists(
    st.builds(
        tiny,
        seed=st.integers(0, 9),
        learning_rate=st.sampled_from([1e-3, 1e-2]),
        task=st.sampled_from(["even_pairs", "reverse_string", "bucket_sort"]),
    ),
    unique=True,
    max_size=30,
)


def operations(runs) -> float:
    return sum(estimate.training(run) + estimate.testing(run) for run in runs)


@given(some_runs, st.integers(1, 40), st.sampled_from([1, 2, 4]), st.none() | st.integers(1, 8))
def test_jobs_have_every_run_once_and_at_most_the_share_of_a_worker(runs, slots, per_slot, most):
    jobs = make_jobs(runs, slots, per_slot, most)
    found = [run for job in jobs for run in job.members]
    assert sorted(found, key=repr) == sorted(runs, key=repr)
    share = operations(runs) / slots
    for job in jobs:
        assert job.members
        assert most is None or len(job.members) <= most
        programs = {dataclasses.replace(run, seed=0, learning_rate=1.0) for run in job.members}
        assert len(programs) == 1
        assert operations(job.members[1:]) <= share * (1 + 1e-6)


@pytest.mark.parametrize(
    ("programs", "slots", "jobs"),
    [(1, 1, 1), (2, 1, 2), (1, 2, 2), (2, 2, 2), (3, 2, 6), (3, 3, 3)],
)
def test_programs_are_cut_only_where_the_load_would_be_uneven(programs, slots, jobs):
    """Ten runs of each program, which cost the same: 3 programs on 2 workers need halves."""
    kinds = [1e-1, 1e-2, 1e-3][:programs]  # the clipping norm makes programs of equal cost
    runs = [tiny(clip=clip, seed=seed) for clip in kinds for seed in range(10)]
    found = make_jobs(runs, slots, 4)
    assert len(found) == jobs
    firsts = [job.members[0].clip for job in found[:programs]]
    assert len(set(firsts)) == programs  # workers that start together compile different programs

"""Ensembles, interruption and divergence: what happens on the host's side of training."""

import contextlib
import dataclasses
import itertools
import json
import statistics
from collections.abc import Callable
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from randpos import Experiment, Run, UserError
from randpos import run as runs
from randpos.store.folder import RunFolder, Store
from randpos.store.result import Result
from randpos.training import loop as trainer
from randpos.training import member as trained_member
from randpos.training.member import POINTS, learning_curve, start_member
from tests.experiments import COMPLETE_RUN, shared_engine, tiny

STEPS = 250
"""Two whole chunks and a half."""
RATES = [1e-2, 1e-3]


@pytest.fixture(autouse=True)
def engines(monkeypatch):
    """Compile once for all tests."""
    monkeypatch.setattr(runs, "make_engine", shared_engine)


def train(store: Path, experiment: Experiment | None = None, **options) -> Run:
    return runs.train(experiment or tiny(steps=STEPS), store=store, **options)


def content(folder: RunFolder) -> tuple[bytes, bytes]:
    """All that must not depend on how a run came about."""
    return folder.parameters.read_bytes(), (folder.path / "metrics.jsonl").read_bytes()


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict[tuple[int, float], tuple[bytes, bytes]]:
    """Every member trained by itself, without interruption."""
    out = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "make_engine", shared_engine)
        for seed, rate in itertools.product([0, 1], RATES):
            first = tiny(steps=STEPS, seed=seed, learning_rate=rate)
            run = train(tmp_path_factory.mktemp("alone"), first)
            out[seed, rate] = content(run.folders[0])
    return out


def members(run: Run) -> dict[tuple[int, float], tuple[bytes, bytes]]:
    found = {}
    for number, folder in enumerate(run.folders):
        experiment = run.experiment(number)
        found[experiment.seed, experiment.learning_rate] = content(folder)
    return found


# Ensembles.


def test_mapped_members_are_bit_identical_to_singles(tmp_path, alone):
    assert members(train(tmp_path, seeds=[0, 1], rates=RATES, strategy="map")) == alone


def test_stacked_members_agree_with_singles(tmp_path, alone):
    # Products of stacked matrices round otherwise, and training magnifies it: after 250 steps
    # parameters of size 1 agree to 1e-3, and losses to 1 %.
    found = members(train(tmp_path, seeds=[0, 1], rates=RATES, strategy="vmap"))
    assert found.keys() == alone.keys()
    for who, (parameters, metrics) in found.items():
        mine, theirs = (safetensors.numpy.load(p) for p in (parameters, alone[who][0]))
        for name in mine:
            np.testing.assert_allclose(mine[name], theirs[name], atol=1e-3)
        for first, two in zip(metrics.splitlines(), alone[who][1].splitlines(), strict=True):
            assert json.loads(first)["loss"] == pytest.approx(json.loads(two)["loss"], rel=1e-2)


def test_members_come_in_the_order_of_seeds_then_rates(tmp_path):
    run = train(tmp_path, tiny(steps=1), seeds=[5, 3], rates=RATES)
    order = [(run.experiment(i).seed, run.experiment(i).learning_rate) for i in range(4)]
    assert order == [(5, 1e-2), (5, 1e-3), (3, 1e-2), (3, 1e-3)]


def test_a_member_added_later_equals_one_of_the_first(tmp_path, alone):
    train(tmp_path, seeds=[0], rates=RATES)
    assert members(train(tmp_path, seeds=[0, 1], rates=RATES)) == alone


@pytest.mark.parametrize("strategy", ["map", "vmap"])
def test_members_at_different_steps_catch_up(tmp_path, alone, strategy):
    stop_at(150, tmp_path, seeds=[1])
    stop_at(50, tmp_path, seeds=[0])
    steps = []
    run = train(
        tmp_path,
        seeds=[0, 1],
        strategy=strategy,
        report=lambda p: steps.append((p.member, p.step)),
    )
    assert steps[0] == (0, 20)
    assert (1, 120) in steps
    assert (1, 100) not in steps
    if strategy == "map":
        assert members(run) == {who: alone[who] for who in ((0, 1e-2), (1, 1e-2))}


@pytest.mark.parametrize("options", [{"seeds": [1, 1]}, {"rates": [0.1, 0.1]}])
def test_a_member_may_not_come_twice(tmp_path, options):
    with pytest.raises(UserError, match="must not repeat"):
        train(tmp_path, **options)


def test_seeds_and_rates_may_be_numpys(tmp_path):
    jaxtyping.config.update("jaxtyping_disable", True)
    run = train(tmp_path, tiny(steps=1), seeds=np.arange(2), rates=np.full(1, 0.5))
    jaxtyping.config.update("jaxtyping_disable", False)
    assert run.experiment(1) == tiny(steps=1, seed=1, learning_rate=0.5)


# Interruption. A signal may come at any moment: here at any report and at any write.


def stop_at(step: int, store: Path, **options) -> None:
    """Trains until Ctrl-C at a step."""

    def report(progress: trainer.Progress) -> None:
        if progress.step >= step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(store, report=report, **options)


@pytest.mark.parametrize(
    ("steps", "save_every"), [((20,), 0.0), ((120, 220), 3600.0), ((40, 60, 140, 250), 0.0)]
)
def test_an_interrupted_run_ends_like_any_other(tmp_path, alone, steps, save_every):
    for step in steps:
        stop_at(step, tmp_path, save_every=save_every)
    assert content(train(tmp_path).folders[0]) == alone[0, 1e-2]


def interrupt_after(monkeypatch, owner: object, name: str, calls: int, late: bool) -> None:
    """Makes the n-th call of a function end in Ctrl-C, before or after its work."""
    inner: Callable = getattr(owner, name)
    left = itertools.count(1)

    def wrapped(*args, **kwargs):
        here = next(left) == calls
        if here and not late:
            raise KeyboardInterrupt
        out = inner(*args, **kwargs)
        if here:
            raise KeyboardInterrupt
        return out

    monkeypatch.setattr(owner, name, wrapped)


WRITES = [
    *[(RunFolder, "append", n) for n in (2, 11)],
    (trainer, "take_steps", 3),
    (trainer, "record", 2),
    (trained_member, "write_atomic", 1),
    (RunFolder, "finish", 2),
    (RunFolder, "drop_checkpoints", 1),
]


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("strategy", "owner", "name", "calls"),
    [
        *(("map", *write) for write in WRITES),
        *(("vmap", *write) for write in WRITES if write[1] in ("record", "finish")),
    ],
)
def test_an_interrupt_at_any_write_loses_nothing(
    tmp_path, alone, monkeypatch, owner, name, calls, late, strategy, stacked
):
    with monkeypatch.context() as patch:
        patch.setattr(runs, "make_engine", shared_engine)
        interrupt_after(patch, owner, name, calls, late)
        try:
            train(tmp_path, seeds=[0, 1], strategy=strategy)
        except KeyboardInterrupt:
            pass
        else:
            pytest.skip("so many calls are never made")
    found = members(train(tmp_path, seeds=[0, 1], strategy=strategy))
    if strategy == "map":
        assert found == {who: alone[who] for who in found}
    else:
        # A member that is left over alone is no longer stacked, and rounds otherwise.
        for who, (_, metrics) in found.items():
            mine, theirs = (
                [json.loads(line) for line in text.splitlines()]
                for text in (metrics, stacked[who][1])
            )
            assert [row["step"] for row in mine] == [row["step"] for row in theirs]
            for first, two in zip(mine, theirs, strict=True):
                assert first["loss"] == pytest.approx(two["loss"], rel=1e-2)
    assert not list(tmp_path.glob("*/checkpoints"))
    assert not list(tmp_path.rglob(".partial*"))


@pytest.fixture(scope="module")
def stacked(tmp_path_factory) -> dict[tuple[int, float], tuple[bytes, bytes]]:
    """Two members trained together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "make_engine", shared_engine)
        run = train(tmp_path_factory.mktemp("stacked"), seeds=[0, 1], strategy="vmap")
    return members(run)


def test_checkpoints_are_taken_when_their_time_has_come(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(
        trainer.checkpoints.Writer, "save", lambda self, step, arrays: saved.append(step)
    )
    train(tmp_path / "often", save_every=0.0)
    assert saved == [100, 200]
    train(tmp_path / "rarely", save_every=3600.0)
    assert saved == [100, 200]


def test_a_damaged_checkpoint_costs_time_and_nothing_else(tmp_path, alone):
    stop_at(220, tmp_path, save_every=0.0)
    newest = max(tmp_path.glob("*/checkpoints/*.safetensors"))
    newest.write_bytes(newest.read_bytes()[:-1])
    with pytest.warns(UserWarning, match=f"{newest.name} is damaged"):
        run = train(tmp_path)
    assert content(run.folders[0]) == alone[0, 1e-2]


def test_with_all_checkpoints_damaged_a_run_starts_over(tmp_path, alone):
    stop_at(220, tmp_path, save_every=0.0)
    for path in tmp_path.glob("*/checkpoints/*.json"):
        path.write_text("{")
    with (
        pytest.warns(UserWarning, match="starts over"),
        pytest.warns(UserWarning, match="set aside"),
    ):
        run = train(tmp_path)
    assert content(run.folders[0]) == alone[0, 1e-2]


def test_lost_metrics_do_not_stop_a_run(tmp_path):
    stop_at(220, tmp_path, save_every=0.0)
    for path in tmp_path.glob("*/*.jsonl"):
        path.unlink()
    assert [row["step"] for row in train(tmp_path).metrics()] == [250]


# The end of a run.


def test_a_complete_run_is_not_trained_again(tmp_path):
    before = content(train(tmp_path).folders[0])
    reports = []
    assert content(train(tmp_path, report=reports.append).folders[0]) == before
    assert reports == []


def test_a_complete_run_leaves_only_what_is_documented(tmp_path):
    run = train(tmp_path, tiny(steps=20), save_every=0.0)
    assert sorted(path.name for path in run.folders[0].path.iterdir()) == COMPLETE_RUN


def test_metrics_are_means_over_chunks(tmp_path):
    steps = []
    run = train(tmp_path, report=lambda p: steps.append((p.step, p.loss)))
    assert [row["step"] for row in run.metrics()] == [100, 200, 250]
    assert [step for step, _ in steps] == [*range(20, 241, 20), 250]
    parts = [loss for step, loss in steps if step <= 100]
    assert run.metrics()[0]["loss"] == pytest.approx(np.mean(parts), rel=1e-6)


def test_a_run_that_ended_while_we_waited_for_it_is_left_alone(tmp_path, monkeypatch):
    before = content(train(tmp_path).folders[0])
    looks = itertools.count()
    inner = RunFolder.result
    late = lambda self: None if next(looks) == 0 else inner(self)  # noqa: E731
    monkeypatch.setattr(RunFolder, "result", late)
    assert content(train(tmp_path).folders[0]) == before
    assert next(looks) > 1


def test_a_run_that_is_being_trained_is_refused(tmp_path):
    lock = Store(tmp_path).run(tiny(steps=STEPS)).lock()
    with pytest.raises(UserError, match="is being trained by another process"):
        train(tmp_path)
    lock.release()
    train(tmp_path)


def test_a_refused_ensemble_lets_go_of_its_other_members(tmp_path):
    lock = Store(tmp_path).run(tiny(steps=STEPS, seed=1)).lock()
    with pytest.raises(UserError):
        train(tmp_path, seeds=[0, 1])
    train(tmp_path, seeds=[0])
    lock.release()


def test_a_full_disk_is_a_sentence_and_frees_the_run(tmp_path, alone, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("randpos.store.files.os.fsync", full)
        with pytest.raises(UserError, match="cannot be used: No space left on device"):
            train(tmp_path, save_every=0.0)
    assert content(train(tmp_path).folders[0]) == alone[0, 1e-2]


# Divergence.


@pytest.mark.parametrize("strategy", ["map", "vmap"])
def test_a_diverged_member_is_reported_and_the_others_go_on(tmp_path, strategy):
    with pytest.warns(UserWarning, match=r"seed 0, rate 1e\+30 diverged at step \d"):
        run = train(tmp_path, rates=[1e-2, 1e30], strategy=strategy)
    good, bad = (folder.result() for folder in run.folders)
    assert good is not None
    assert bad is not None
    assert (good.status, good.step) == ("complete", STEPS)
    assert bad.status == "diverged"
    assert 0 < bad.step < 100
    assert run.model(0) is not None
    with pytest.raises(UserError, match=f"diverged at step {bad.step}; it has no model"):
        run.model(1)


def test_the_step_of_divergence_is_the_first_bad_one(tmp_path):
    folder = Store(tmp_path).run(tiny())
    folder.create(tiny())
    stack = contextlib.ExitStack()
    first = start_member(shared_engine(tiny()), 0, tiny(), folder, (), stack)
    metrics = np.ones((2, 60), np.float32)
    metrics[0, [37, 50]] = np.nan, np.inf
    with pytest.warns(UserWarning, match="diverged at step 37"):
        trainer.record(first, trainer.checkpoints.Checkpoint(60, first.at.arrays), metrics)
    stack.close()
    assert folder.result() == Result("diverged", 37, 0.0)


def test_a_diverged_run_stays_diverged(tmp_path):
    bad = dataclasses.replace(tiny(steps=STEPS), learning_rate=1e30)
    with pytest.warns(UserWarning, match="diverged"):
        train(tmp_path, bad)
    train(tmp_path, bad)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1)), max_size=230))
def test_a_learning_curve_averages_equal_spans_of_all_steps(rows):
    metrics = [{"step": 100 * i, "loss": a, "accuracy": b} for i, (a, b) in enumerate(rows, 1)]
    curve = learning_curve(metrics)
    assert len(curve) == min(len(rows), POINTS)
    ends = [0, *(step // 100 for step, *_ in curve)]
    spans = [metrics[a:b] for a, b in itertools.pairwise(ends)]
    assert max(map(len, spans), default=0) - min(map(len, spans), default=0) <= 1
    assert list(itertools.chain(*spans)) == metrics
    for (_, loss, accuracy), span in zip(curve, spans, strict=True):
        assert loss == pytest.approx(statistics.fmean(row["loss"] for row in span))
        assert accuracy == pytest.approx(statistics.fmean(row["accuracy"] for row in span))

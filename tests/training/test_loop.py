"""How runs end: complete, refused or diverged, and what they leave behind."""

import contextlib
import dataclasses
import itertools
import statistics

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from randpos import UserError
from randpos.store.folder import RunFolder, Store
from randpos.store.result import Result
from randpos.training import loop as trainer
from randpos.training.member import POINTS, learning_curve, start_member
from tests.experiments import COMPLETE_RUN, shared_engine, tiny
from tests.training.runs import STEPS, content, train

pytestmark = pytest.mark.usefixtures("engines")


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

"""A run: its model, its metrics, and testing it bit by bit."""

import dataclasses
import functools
import shutil
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest
import safetensors.numpy

from randpos import Accuracy, Evaluation, Experiment, Run, UserError
from randpos import run as runs
from randpos.store.folder import Store
from randpos.store.result import Result
from randpos.training import member as trained_member
from randpos.training.evaluation import Evaluator
from tests.experiments import shared_engine, tiny


@functools.cache
def cached(experiment: Experiment) -> Evaluator:
    return Evaluator(experiment)


def shared_evaluator(experiment: Experiment, *_: object) -> Evaluator:
    """One for all that differs only in seed and stride."""
    options = dataclasses.replace(experiment.evaluation, stride=1)
    return cached(dataclasses.replace(experiment, seed=0, evaluation=options))


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A store with two trained members."""
    store = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "Engine", shared_engine)
        runs.train(tiny(), seeds=[0, 1], store=store)
    return store


@pytest.fixture
def run(trained, tmp_path, monkeypatch) -> Run:
    """Two trained members that nobody has tested."""
    monkeypatch.setattr(runs, "Evaluator", shared_evaluator)
    shutil.copytree(trained, tmp_path / "copy")
    return Run(tuple(Store(tmp_path / "copy").run(tiny(seed=seed)) for seed in (0, 1)))


def test_a_model_holds_the_stored_parameters(run):
    stored = safetensors.numpy.load(run.folders[1].parameters.read_bytes())
    leaves = jax.tree_util.tree_flatten_with_path(eqx.filter(run.model(1), eqx.is_array))[0]
    assert {jax.tree_util.keystr(path) for path, _ in leaves} == set(stored)
    assert all(np.array_equal(x, stored[jax.tree_util.keystr(path)]) for path, x in leaves)


def test_a_model_needs_a_run_that_ended(tmp_path):
    folder = Store(tmp_path).run(tiny())
    folder.create(tiny())
    with pytest.raises(UserError, match="is not trained yet; it has no model"):
        Run((folder,)).model()


def test_a_damaged_model_is_named(tmp_path, run):
    folder = Store(tmp_path).run(tiny())
    folder.create(tiny())
    folder.finish(Result("complete", 60, 1.0))
    with pytest.raises(UserError, match=r"model\.safetensors cannot be used: No such file"):
        Run((folder,)).model()
    folder.parameters.write_bytes(run.folders[0].parameters.read_bytes()[:-5])
    with pytest.raises(UserError, match=r"model\.safetensors is damaged"):
        Run((folder,)).model()


def test_only_missing_lengths_are_tested(run):
    reports: list[tuple[int, Accuracy]] = []

    def report(member: int, accuracy: Accuracy) -> None:
        reports.append((member, accuracy))

    options = Evaluation(stride=3, batch=16)
    some = run.evaluate(options, report)
    assert [[a.length for a in curve] for curve in some] == [[1, 3, 4, 5, 6]] * 2
    assert reports == [(member, a) for member in (0, 1) for a in some[member]]
    reports.clear()
    every = run.evaluate(dataclasses.replace(options, stride=1), report)
    assert [(member, a.length) for member, a in reports] == [(0, 2), (1, 2)]
    assert [a for a in every[0] if a.length != 2] == some[0]
    reports.clear()
    assert run.evaluate(options, report) == some
    assert reports == []


def test_a_stopped_test_goes_on_where_it_was(run):
    options = Evaluation(batch=16)
    seen: list[int] = []

    def stop(member: int, accuracy: Accuracy) -> None:
        seen.append(accuracy.length)
        if accuracy.length == 3 and len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.evaluate(options, stop)
    run.evaluate(options, stop)
    assert seen[:6] == [1, 2, 3, 4, 5, 6]


def test_scores_are_of_all_lengths_or_none(run):
    assert run.score(0) is None
    assert run.in_domain(0) is None
    run.evaluate(max_length=5)
    assert run.score(0) is None
    assert run.in_domain(0) is not None
    curve = run.evaluate()[0]
    values = [a.accuracy for a in curve]
    assert run.score(0) == pytest.approx(np.mean(values[4:]))
    assert run.in_domain(0) == pytest.approx(np.mean(values[:4]))


def test_scores_of_another_way_of_testing(run):
    options = Evaluation(batch=8)
    curve = run.evaluate(options)[0]
    assert run.score(0) is None
    assert run.score(0, options) == pytest.approx(np.mean([a.accuracy for a in curve[4:]]))
    assert run.in_domain(0, options) == pytest.approx(np.mean([a.accuracy for a in curve[:4]]))


def test_the_score_of_an_ensemble_asks_for_a_member(run):
    for method in (run.score, run.in_domain):
        with pytest.raises(UserError, match=r"has 2 members; pass .*\(member=0\), or call scores"):
            method()
    assert Run(run.folders[:1]).score() is None


def test_frames_hold_every_member(run):
    curves = run.evaluate()
    rows = run.scores().to_dicts()
    assert [row["seed"] for row in rows] == [0, 1]
    assert [row["score"] for row in rows] == [run.score(0), run.score(1)]
    found = run.accuracies()
    assert found.height == 12
    for seed, curve in enumerate(curves):
        mine = found.filter(seed=seed).select(*Accuracy._fields)
        assert mine.rows() == [tuple(a) for a in curve]
    shown = repr(run)
    assert all(row["run"] in shown and row["run"] in run._repr_html_() for row in rows)
    shutil.rmtree(run.folders[0].path)
    assert "cannot be read" in repr(run)
    assert "cannot be read" in run._repr_html_()


def test_the_figure_has_the_mean_over_seeds_and_a_band(run):
    curves = run.evaluate()
    (axes,) = run.plot().axes
    line = axes.lines[0]
    mean = np.mean([[a.accuracy for a in curve] for curve in curves], axis=0)
    np.testing.assert_allclose(line.get_ydata(), 100 * mean)
    assert list(line.get_xdata()) == [1, 2, 3, 4, 5, 6]
    (band,) = axes.collections
    edges = band.get_paths()[0].vertices
    lowest = min(a.accuracy for curve in curves for a in curve)
    assert edges[:, 1].min() == pytest.approx(100 * lowest)


def test_the_figure_has_only_lengths_that_all_seeds_were_tested_at(run):
    run.evaluate()
    Run(run.folders[:1]).evaluate(max_length=8)
    (axes,) = run.plot().axes
    assert list(axes.lines[0].get_xdata()) == [1, 2, 3, 4, 5, 6]
    assert max(axes.collections[0].get_paths()[0].vertices[:, 0]) == 6


def test_longer_lengths_than_planned_are_added_and_change_no_score(run):
    short = run.evaluate()
    before = run.scores()
    longer = run.evaluate(max_length=16)  # 32 tokens: as many as L
    assert [a.length for a in longer[0]] == list(range(1, 17))
    assert [curve[:6] for curve in longer] == short
    assert run.scores().equals(before)
    with pytest.raises(UserError, match=r"max_length=17 of reverse_string needs more .* pass 16"):
        run.evaluate(max_length=17)
    with pytest.raises(UserError, match="max_length=0 must be at least 1"):
        run.evaluate(max_length=0)


def test_two_that_test_one_run_do_not_drop_each_others_lengths(run):
    options = Evaluation(batch=16)

    def other(member: int, accuracy: Accuracy) -> None:
        with pytest.raises(UserError, match="another process"):
            run.evaluate(Evaluation(stride=2, batch=16))

    run.evaluate(options, other, max_length=2)
    lock = run.folders[0].lock()  # what was tested can still be read
    assert [a.length for a in run.evaluate(options, max_length=2)[0]] == [1, 2]
    lock.release()
    assert len(run.evaluate(options)[0]) == 6


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -5.0])
def test_what_is_no_time_between_checkpoints_is_refused(tmp_path, seconds):
    with pytest.raises(UserError, match=r"save_every=.* must be a number of seconds"):
        runs.train(tiny(), store=tmp_path, save_every=seconds)
    assert not list(tmp_path.iterdir())


def test_a_tracker_is_closed_when_the_next_cannot_be_made(tmp_path, monkeypatch):
    closed = []

    class Fine:
        def __init__(self, *_: object) -> None: ...

        def close(self) -> None:
            closed.append(self)

    def broken(*_: object) -> None:
        raise UserError("no such tracker.")

    monkeypatch.setattr(runs, "Engine", shared_engine)
    monkeypatch.setattr(trained_member, "TRACKERS", {"tensorboard": Fine, "wandb": broken})
    with pytest.raises(UserError, match="no such tracker"):
        runs.train(tiny(), store=tmp_path, track=["tensorboard", "wandb"])
    assert len(closed) == 1


def test_a_diverged_member_has_no_curve(tmp_path, run):
    diverged = Store(tmp_path).run(tiny())
    diverged.create(tiny())
    diverged.finish(Result("diverged", 3, 1.0))
    both = Run((diverged, run.folders[1]))
    curves = both.evaluate(max_length=1)
    assert [len(curve) for curve in curves] == [0, 1]
    assert both.score(0) is None

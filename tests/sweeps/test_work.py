"""A job in one process: which runs it may have, and what it does when one of them fails."""

import shutil

import pytest

from randpos.errors import StorageError, UserError
from randpos.store import lock as store
from randpos.store.folder import Store
from randpos.sweeps import work
from randpos.sweeps.work import Event, Programs, claim, describe, perform
from randpos.training.loop import Progress
from tests.experiments import tiny
from tests.sweeps.synthetic import write_run

RUNS = [tiny(seed=seed) for seed in range(3)]


def states(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.run, event.state) for event in events]


def test_runs_of_others_are_listed_and_the_rest_is_locked_until_the_end(tmp_path):
    other = Store(tmp_path).run(RUNS[1]).lock()
    events = []
    with claim(RUNS, tmp_path, events.append) as claimed:
        assert claimed == [RUNS[0], RUNS[2]]
        assert states(events) == [(RUNS[1].digest, "elsewhere")]
        for settings in claimed:
            with pytest.raises(UserError, match="being trained by another process"):
                Store(tmp_path).run(settings).lock()
    other.release()
    for settings in RUNS:
        Store(tmp_path).run(settings).lock().release()


def test_a_run_that_another_sweep_failed_at_is_not_tried_again(tmp_path):
    write_run(tmp_path, RUNS[0], "failed", reason="no luck")
    events = []
    with claim(RUNS, tmp_path, events.append) as claimed:
        assert claimed == RUNS[1:]
    assert events == [Event(RUNS[0].digest, "failed", reason="no luck")]


def test_a_lock_on_a_run_that_is_being_removed_is_none(tmp_path, monkeypatch):
    """Pruning takes the folder away between opening the lock and having it."""
    real = store.fcntl.flock

    def slow(handle, how):
        shutil.rmtree(tmp_path / RUNS[0].digest, ignore_errors=True)
        real(handle, how)

    monkeypatch.setattr(store.fcntl, "flock", slow)
    events = []
    with claim(RUNS[:1], tmp_path, events.append) as claimed:
        assert claimed == []
    assert states(events) == [(RUNS[0].digest, "elsewhere")]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is damaged"),
        ('{"format": 99}', "was written in format 99"),
        (None, "holds another run; its name must be the digest"),
    ],
)
def test_a_folder_of_something_else_is_left_alone(tmp_path, content, reason):
    folder = Store(tmp_path).run(RUNS[0])
    if content is None:
        folder.create(RUNS[1])
    else:
        folder.path.mkdir()
        (folder.path / "config.json").write_text(content)
    events = []
    with claim(RUNS[:1], tmp_path, events.append) as claimed:
        assert claimed == []
    (event,) = events
    assert event.state == "failed"
    assert reason in event.reason


def test_a_link_in_the_folder_of_a_run_is_the_fault_of_that_run_alone(tmp_path):
    folder = Store(tmp_path / "runs").run(RUNS[1])
    folder.path.mkdir(parents=True)
    (folder.path / "evaluation").symlink_to(tmp_path)
    events = []
    with claim(RUNS, tmp_path / "runs", events.append) as claimed:
        assert claimed == [RUNS[0], RUNS[2]]
    (event,) = events
    assert (event.run, event.state) == (RUNS[1].digest, "failed")
    assert "evaluation is a link" in event.reason


def test_a_store_that_refuses_leaves_no_lock_behind(tmp_path):
    (tmp_path / RUNS[1].digest).write_text("a file in the way")
    with pytest.raises(StorageError), claim(RUNS, tmp_path, lambda event: None):
        pass
    Store(tmp_path).run(RUNS[0]).lock().release()


@pytest.fixture
def training(monkeypatch):
    """Training and testing that only record their calls, or fail for some seeds."""
    asked: list[tuple[int, ...]] = []
    errors: dict[int, Exception] = {}

    def train(members, folders, engine, report, **_):
        asked.append(tuple(settings.seed for settings in members))
        for number, settings in enumerate(members):
            if settings.seed in errors:
                raise errors[settings.seed]
            report(Progress(number, settings, 20, 0.5, 0.5, 1.0))

    def evaluate_run(folder, settings, evaluator, report):
        if 10 + settings.seed in errors:
            raise errors[10 + settings.seed]

    monkeypatch.setattr(work, "train_members", train)
    monkeypatch.setattr(work, "evaluate_run", evaluate_run)
    return asked, errors


def done(tmp_path) -> tuple[dict[int, str], dict[int, str]]:
    """Performs all runs; returns how each ended, and why."""
    events: list[Event] = []
    perform(RUNS, tmp_path, events.append, 60.0)
    last = {event.run: event for event in events}
    return (
        {settings.seed: last[settings.digest].state for settings in RUNS},
        {
            settings.seed: last[settings.digest].reason
            for settings in RUNS
            if last[settings.digest].reason
        },
    )


def test_jobs_with_the_same_program_share_what_is_compiled():
    programs = Programs()
    first, other = programs.load(tiny()), tiny(task="even_pairs")
    again = programs.load(tiny(seed=5, learning_rate=0.1))
    assert all(a is b for a, b in zip(first, again, strict=True))
    assert programs.load(other)[1].experiment.task == "even_pairs"
    assert programs.load(tiny())[1].experiment.task == tiny().task


def test_all_are_trained_together(tmp_path, training):
    asked, _ = training
    assert done(tmp_path) == ({0: "done", 1: "done", 2: "done"}, {})
    assert asked == [(0, 1, 2)]


def test_all_members_compile_until_the_first_step_of_any(tmp_path, training):
    events: list[Event] = []
    perform(RUNS, tmp_path, events.append, 60.0)
    for run in RUNS:
        seen = [(e.state, e.step) for e in events if e.run == run.digest]
        assert seen[:3] == [("compiling", 0), ("training", 0), ("training", 20)]
    first = next(i for i, event in enumerate(events) if event.step)
    assert [event.state for event in events[:first]] == ["compiling"] * 3 + ["training"] * 3


def test_when_one_cannot_be_trained_each_is_tried_alone(tmp_path, training):
    asked, errors = training
    errors[1] = ZeroDivisionError("division\nby zero")
    ended, why = done(tmp_path)
    assert ended == {0: "done", 1: "failed", 2: "done"}
    assert why == {1: "ZeroDivisionError: division by zero"}
    assert asked == [(0, 1, 2), (0,), (1,), (2,)]
    assert Store(tmp_path).run(RUNS[1]).failure() == why[1]
    assert Store(tmp_path).run(RUNS[0]).failure() is None


def test_when_one_cannot_be_tested_the_others_are(tmp_path, training):
    _, errors = training
    errors[10] = UserError("its accuracies are damaged.")
    ended, why = done(tmp_path)
    assert ended == {0: "failed", 1: "done", 2: "done"}
    assert why == {0: "its accuracies are damaged."}


@pytest.mark.parametrize("when", [0, 11])
def test_a_store_that_refuses_is_no_fault_of_a_run(tmp_path, training, when):
    _, errors = training
    errors[when] = StorageError("the disk is full.")
    with pytest.raises(StorageError, match="the disk is full"):
        done(tmp_path)
    assert not list(tmp_path.rglob("failure.json"))


def test_a_reason_is_one_line_of_bounded_length():
    assert describe(ValueError("")) == "ValueError: no message"
    assert describe(UserError("as it is.")) == "as it is."
    assert len(describe(ValueError("x\n" * 10_000))) < 600

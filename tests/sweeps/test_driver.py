"""The driver, with an executor in this process that follows a script."""

import collections
import itertools
import threading
from collections.abc import Callable

import pytest

from randpos import Experiment
from randpos.errors import StorageError, UserError
from randpos.store.folder import Store
from randpos.sweeps import driver as module
from randpos.sweeps.driver import MAX_DEATHS, Driver
from randpos.sweeps.executor import OutageError, WorkerKilledError, WorkerLostError
from randpos.sweeps.plan import Plan
from randpos.sweeps.work import Emit, Event, Job
from tests.experiments import tiny

RUNS = [tiny(seed=seed) for seed in range(6)]
Deed = Callable[[Experiment, Emit, int], None]


class Fake:
    """Does to each run of a job what its script says, given how often the run was tried before."""

    def __init__(self, deed: Deed, slots: int = 2) -> None:
        self.deed, self.slots = deed, slots
        self.tried: collections.Counter[int] = collections.Counter()
        self.jobs: list[tuple[int, ...]] = []
        self.stopped = self.closed = self.recovered = 0
        self.max_jobs_per_slot = 1
        self.lock = threading.Lock()

    def run(self, job: Job, emit: Emit) -> None:
        with self.lock:
            self.jobs.append(tuple(experiment.seed for experiment in job.members))
        for experiment in job.members:
            with self.lock:
                self.tried[experiment.seed] += 1
            self.deed(experiment, emit, self.tried[experiment.seed])

    def recover(self) -> None:
        self.recovered += 1

    def stop(self) -> None:
        self.stopped += 1

    def close(self) -> None:
        self.closed += 1


class Silent:
    """Shows nothing."""

    def __call__(self, event: Event) -> None:
        pass

    def tick(self) -> None:
        pass


class Witness:
    """Sees everything."""

    def __init__(self) -> None:
        self.seen: dict[int, list[str]] = collections.defaultdict(list)
        self.seeds = {experiment.digest: experiment.seed for experiment in RUNS}

    def __call__(self, event: Event) -> None:
        self.seen[self.seeds[event.run]].append(event.state)

    def tick(self) -> None:
        pass


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)


def sweep(tmp_path, deed: Deed, most: int | None = None, runs=RUNS, slots: int = 2):
    fake = Fake(deed, slots)
    driver = Driver(Plan([], [], list(runs)), tmp_path, fake, Witness(), most)
    return driver, fake


def finish(experiment: Experiment, emit: Emit, _: int = 0) -> None:
    emit(Event(experiment.digest, "done", experiment.steps))


@pytest.mark.parametrize("slots", [1, 2, 5])
@pytest.mark.parametrize("most", [None, 1, 4])
def test_every_run_is_done_once(tmp_path, slots, most):
    driver, fake = sweep(tmp_path, finish, most, slots=slots)
    driver.run()
    assert fake.tried == dict.fromkeys(range(6), 1)
    assert driver.failures == {}
    assert fake.closed == 1
    assert dict(driver.view.seen) == {seed: ["done"] for seed in range(6)}  # type: ignore


def test_nothing_to_do_ends_at_once(tmp_path):
    driver, fake = sweep(tmp_path, finish, runs=[])
    driver.run()
    assert fake.jobs == []
    assert fake.closed == 1


@pytest.mark.parametrize("deaths", range(MAX_DEATHS))
def test_a_run_whose_worker_dies_is_tried_again(tmp_path, deaths):
    def die(experiment: Experiment, emit: Emit, attempt: int) -> None:
        if experiment.seed == 3 and attempt <= deaths:
            raise WorkerLostError("it was killed")
        finish(experiment, emit)

    driver, fake = sweep(tmp_path, die, most=1)
    driver.run()
    assert fake.tried[3] == deaths + 1
    assert driver.failures == {}
    assert not (tmp_path / RUNS[3].digest).exists()


def lose_worker_of_seed_3(experiment: Experiment, emit: Emit, _: int) -> None:
    if experiment.seed == 3:
        raise WorkerLostError("it was killed")
    finish(experiment, emit)


def test_a_run_whose_workers_keep_dying_fails_with_the_reason_and_the_others_do_not(tmp_path):
    driver, fake = sweep(tmp_path, lose_worker_of_seed_3, most=1)
    driver.run()
    assert fake.tried == {0: 1, 1: 1, 2: 1, 3: MAX_DEATHS, 4: 1, 5: 1}
    assert driver.failures == {RUNS[3].digest: "it was killed, 3 times"}
    assert Store(tmp_path).run(RUNS[3]).failure() == "it was killed, 3 times"
    assert [path.name for path in tmp_path.iterdir()] == [RUNS[3].digest]


def test_of_a_job_whose_workers_keep_dying_only_the_run_to_blame_fails(tmp_path):
    driver, fake = sweep(tmp_path, lose_worker_of_seed_3, slots=1)
    driver.run()
    assert list(driver.failures) == [RUNS[3].digest]
    # As one job until three workers died over what was left of it, then each alone.
    rest = [(0, 1, 2, 3, 4, 5), (3, 4, 5), (3, 4, 5), (3,), (4,), (5,), (3,), (3,)]
    assert fake.jobs == rest
    assert all(fake.tried[seed] == 1 for seed in (0, 1, 2))


def kill_worker_of_seed_3(experiment: Experiment, emit: Emit, _: int) -> None:
    if experiment.seed == 3:
        raise WorkerKilledError("it was killed")
    finish(experiment, emit)


@pytest.mark.parametrize("most", [1, None])
def test_if_the_only_worker_is_killed_too_often_the_sweep_stops_and_names_the_run(tmp_path, most):
    driver, fake = sweep(tmp_path, kill_worker_of_seed_3, most, slots=1)
    with pytest.raises(UserError, match=f"{RUNS[3].digest} .*seed 3 .*the same command again"):
        driver.run()
    # As a part of one job it was tried as often before.
    assert fake.tried[3] == (MAX_DEATHS if most else 2 * MAX_DEATHS)
    assert driver.failures == {}
    assert list(tmp_path.iterdir()) == []
    assert fake.closed == 1


def test_kills_and_deaths_are_counted_apart(tmp_path):
    """Two of each are neither the end of the sweep nor the fault of the run."""
    ends = [WorkerKilledError("it was killed"), WorkerLostError("it crashed")] * 2

    def end(experiment: Experiment, emit: Emit, attempt: int) -> None:
        if attempt <= len(ends):
            raise ends[attempt - 1]
        finish(experiment, emit)

    driver, fake = sweep(tmp_path, end, runs=RUNS[:1], slots=1)
    driver.run()
    assert (fake.tried[0], driver.failures) == (5, {})


def test_an_outage_is_never_counted_against_a_run(tmp_path):
    def vanish(run: Experiment, emit: Emit, attempt: int) -> None:
        if attempt <= MAX_DEATHS + 2:
            raise OutageError("the cluster is gone")
        finish(run, emit)

    driver, fake = sweep(tmp_path, vanish, most=1)
    driver.run()
    assert driver.failures == {}
    assert fake.tried == dict.fromkeys(range(6), MAX_DEATHS + 3)
    assert fake.recovered == 6 * (MAX_DEATHS + 2)


def test_when_the_executor_does_not_recover_the_sweep_stops_and_no_run_has_failed(tmp_path):
    def vanish(run: Experiment, emit: Emit, _: int) -> None:
        raise OutageError("the cluster is gone")

    def give_up() -> None:
        raise UserError("It did not come back.")

    driver, fake = sweep(tmp_path, vanish)
    fake.recover = give_up  # type: ignore[method-assign]
    with pytest.raises(UserError, match="did not come back"):
        driver.run()
    assert driver.failures == {}
    assert list(tmp_path.iterdir()) == []
    assert fake.closed == 1


def test_two_workers_do_not_compile_the_same_program_while_there_is_another(tmp_path):
    """The first two jobs of task A are next to each other in the queue; B comes after them."""
    runs = [tiny(task=task, seed=seed) for task in ("even_pairs", "bucket_sort") for seed in (0, 1)]
    order, both = [], threading.Barrier(2, timeout=300)

    def compile_together(run: Experiment, emit: Emit, _: int) -> None:
        order.append(run.task)
        if len(order) <= 2:
            both.wait()  # both workers compile at the same time
        emit(Event(run.digest, "training", 20))
        finish(run, emit)

    fake = Fake(compile_together)
    driver = Driver(Plan([], [], runs), tmp_path, fake, Silent(), 1)
    jobs = sorted(driver.jobs, key=lambda job: job.members[0].task)
    driver.jobs = collections.deque(jobs)
    driver.run()
    assert set(order[:2]) == {"even_pairs", "bucket_sort"}
    assert len(order) == 4


@pytest.mark.parametrize(("slots", "loads"), [(1, 3), (2, 4)])
def test_workers_stay_with_a_program_while_all_are_busy(tmp_path, slots, loads):
    """Six jobs of three programs: two workers must share one of them, one worker shares none."""
    tasks = ("even_pairs", "bucket_sort", "cycle_navigation")
    runs = [tiny(task=task, seed=seed) for task in tasks for seed in (0, 1)]
    order, rounds = [], threading.Barrier(slots, timeout=300)

    def work(run: Experiment, emit: Emit, _: int) -> None:
        order.append((threading.get_ident(), run.task))
        rounds.wait()
        emit(Event(run.digest, "training", 20))
        finish(run, emit)

    Driver(Plan([], [], runs), tmp_path, Fake(work, slots), Silent(), 1).run()
    assert len(order) == 6
    assert len(set(order)) == loads
    for thread in {thread for thread, _ in order}:
        mine = [task for who, task in order if who == thread]
        assert len([task for task, _ in itertools.groupby(mine)]) == len(set(mine))


def test_runs_that_another_sweep_works_on_are_asked_for_again(tmp_path):
    def shared(experiment: Experiment, emit: Emit, attempt: int) -> None:
        if experiment.seed in (1, 4) and attempt < 4:
            emit(Event(experiment.digest, "elsewhere"))
        else:
            finish(experiment, emit)

    driver, fake = sweep(tmp_path, shared)
    driver.run()
    assert fake.tried == {0: 1, 1: 4, 2: 1, 3: 1, 4: 4, 5: 1}
    assert driver.failures == {}


@pytest.mark.parametrize("slots", [1, 2])
def test_other_programs_do_not_wait_for_one_that_another_sweep_trains(tmp_path, slots):
    tasks = ("even_pairs", "bucket_sort", "cycle_navigation")
    runs = [tiny(task=task, seed=seed) for seed, task in enumerate(tasks)]
    done = set()

    def work(run: Experiment, emit: Emit, attempt: int) -> None:
        if run.task == "even_pairs" and len(done) < 2:  # until the others are done
            assert attempt < 1000, f"only {done} were done meanwhile"
            emit(Event(run.digest, "elsewhere"))
        else:
            done.add(run.task)
            finish(run, emit)

    Driver(Plan([], [], runs), tmp_path, Fake(work, slots), Silent()).run()
    assert done == set(tasks)


def test_a_failed_run_stops_nothing_and_is_reported(tmp_path):
    def fail(experiment: Experiment, emit: Emit, _: int) -> None:
        if experiment.seed % 2:
            emit(Event(experiment.digest, "failed", reason=f"seed {experiment.seed} is odd"))
        else:
            finish(experiment, emit)

    driver, fake = sweep(tmp_path, fail)
    driver.run()
    odd = [experiment for experiment in RUNS if experiment.seed % 2]
    assert driver.failures == {
        experiment.digest: f"seed {experiment.seed} is odd" for experiment in odd
    }
    assert fake.tried == dict.fromkeys(range(6), 1)


@pytest.mark.parametrize("kind", [StorageError, ZeroDivisionError])
def test_a_store_that_refuses_stops_the_sweep(tmp_path, kind):
    def refuse(experiment: Experiment, emit: Emit, _: int) -> None:
        if experiment.seed == 2:
            raise kind("the disk is full.")
        finish(experiment, emit)

    driver, fake = sweep(tmp_path, refuse, most=1, slots=1)
    with pytest.raises(kind, match="the disk is full"):
        driver.run()
    assert fake.jobs == [(0,), (1,), (2,)]
    assert (fake.stopped, fake.closed) == (1, 1)


def test_a_failure_that_cannot_be_written_stops_the_sweep(tmp_path):
    def die(experiment: Experiment, emit: Emit, _: int) -> None:
        raise WorkerLostError("it was killed")

    (tmp_path / "file").write_text("")
    driver, fake = sweep(tmp_path / "file", die, runs=RUNS[:1])
    with pytest.raises(StorageError, match="cannot be used: Not a directory"):
        driver.run()
    assert fake.closed == 1


def test_an_interrupt_asks_the_workers_to_stop_and_waits_for_them(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_DEATHS", 1)  # a death would be the run's fault
    at_work, stopped = threading.Event(), threading.Event()

    def wait(experiment: Experiment, emit: Emit, _: int) -> None:
        at_work.set()
        assert stopped.wait(300)
        raise WorkerLostError("it ended as it was asked to")

    driver, fake = sweep(tmp_path, wait, most=1)

    class Interrupting(Witness):
        def tick(self) -> None:
            if at_work.is_set() and not stopped.is_set():
                raise KeyboardInterrupt

    monkeypatch.setattr(fake, "stop", stopped.set)
    driver.view = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        driver.run()
    assert fake.closed == 1
    # The deaths were asked for: no run is blamed, and none is begun any more.
    assert driver.failures == {}
    assert len(fake.jobs) <= 2
    assert list(tmp_path.iterdir()) == []

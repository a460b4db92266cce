"""How workers end, with processes in their place that do nothing but that."""

import os
import signal
import sys
import threading

import jax
import pytest

from randpos.errors import StorageError, UserError
from randpos.sweeps import local
from randpos.sweeps.executor import WorkerKilledError, WorkerLostError
from randpos.sweeps.local import Local, places
from randpos.sweeps.work import Event, Job
from tests.experiments import tiny

JOB = Job((tiny(),))
DONE = '{"event": {"run": "r", "state": "done"}}'


@pytest.fixture
def executor(tmp_path, monkeypatch):
    """Starts, instead of workers, a script that reads an order and then follows a script."""

    def make(*deeds: str, workers: int = 1) -> Local:
        script = tmp_path / "worker"
        script.write_text("#!/bin/sh\nread order\n" + "\n".join(deeds) + "\n")
        script.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(script))
        made.append(Local(tmp_path, workers=workers))
        return made[-1]

    made: list[Local] = []
    monkeypatch.setattr(local, "GRACE", 0.5)
    yield make
    for pool in made:
        pool.close()


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        ("kill -9 $$", "its process was killed by SIGKILL"),
        ("echo all is lost >&2; echo no more memory >&2; kill -6 $$", "SIGABRT: no more memory"),
        ("exit 3", "its process ended with 3"),
        ("exit 0", "its process ended with 0"),
        ('printf \'{"event": {"ru\'', "its process ended with 0"),
    ],
)
def test_a_worker_that_ends_before_its_job_is_lost_with_a_reason(executor, deed, reason):
    events = []
    pool = executor(f"echo '{DONE}'", deed)
    with pytest.raises(WorkerLostError, match=reason):
        pool.run(JOB, events.append)
    assert events == [Event("r", "done")]
    assert pool.workers == set()  # whose pipes are closed


@pytest.mark.parametrize(
    ("deed", "error"),
    [
        ("kill -9 $$", UserError),
        ("kill -15 $$", UserError),
        ("exit 0", UserError),  # as a worker does that was interrupted
        ("kill -6 $$", WorkerLostError),  # a crash, which is its own doing
        ("exit 3", WorkerLostError),
    ],
)
def test_workers_that_are_all_killed_at_once_are_no_fault_of_their_runs(
    executor, monkeypatch, deed, error
):
    monkeypatch.setattr(local, "TOGETHER", 300.0)  # on a busy machine they do not end at once
    started, found = threading.Barrier(2, timeout=300), []
    pool = executor(f"echo '{DONE}'", "sleep 0.2", deed, workers=2)

    def run() -> None:
        try:
            pool.run(JOB, lambda event: started.wait() and None)
        except Exception as raised:
            found.append(type(raised))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [error, error]


@pytest.mark.parametrize(
    ("deed", "error"),
    [
        ("kill -9 $$", WorkerKilledError),
        ("kill -15 $$", WorkerKilledError),
        ("exit 0", WorkerKilledError),
        ("kill -6 $$", WorkerLostError),
        ("exit 3", WorkerLostError),
    ],
)
def test_the_kill_of_an_only_worker_is_told_from_a_crash(executor, deed, error):
    pool = executor(deed)
    with pytest.raises(WorkerLostError) as raised:
        pool.run(JOB, lambda event: None)
    assert raised.type is error


def test_a_killed_worker_counts_while_another_lives(executor, tmp_path):
    been = tmp_path / "been"
    deeds = (f"test -e {been} && kill -9 $$", f"touch {been}", "echo '{\"end\": 1}'", "read order")
    pool = executor(*deeds, workers=2)
    other = threading.Thread(target=pool.run, args=(JOB, lambda event: None))
    other.start()
    other.join()  # its worker lives, without a job
    with pytest.raises(WorkerLostError, match="killed by SIGKILL") as raised:
        pool.run(JOB, lambda event: None)
    assert raised.type is WorkerLostError


def test_after_a_lost_worker_there_is_a_new_one(executor, tmp_path):
    pool = executor(
        f"test -e {tmp_path}/been || {{ touch {tmp_path}/been; exit 1; }}",
        f"echo '{DONE}'",
        "echo '{\"end\": 1}'",
        "read order",
    )
    with pytest.raises(WorkerLostError):
        pool.run(JOB, lambda event: None)
    events = []
    pool.run(JOB, events.append)
    assert events == [Event("r", "done")]


def test_what_a_worker_refuses_is_an_error_of_the_store(executor):
    pool = executor("""echo '{"refused": "the disk is full."}'""", "read order")
    with pytest.raises(StorageError, match="the disk is full"):
        pool.run(JOB, lambda event: None)


def test_a_workers_warning_is_ours(executor):
    pool = executor("""echo '{"warning": "beware"}'""", "echo '{\"end\": 1}'", "read order")
    with pytest.warns(UserWarning, match="beware"):
        pool.run(JOB, lambda event: None)


def test_a_worker_that_does_not_end_is_killed(executor):
    pool = executor("trap '' INT TERM", "echo '{\"end\": 1}'", "while true; do sleep 0.05; done")
    pool.run(JOB, lambda event: None)
    (worker,) = pool.workers
    pool.stop()
    pool.close()
    assert worker.child.returncode == -signal.SIGKILL


def test_on_a_cpu_there_is_a_worker_per_core_with_one_thread(monkeypatch):
    found = places()
    assert len(found) == len(os.sched_getaffinity(0))
    assert {place["PJRT_NPROC"] for place in found} == {"1"}
    # Not every system tells which cores a process may use.
    monkeypatch.delattr(os, "sched_getaffinity")
    assert len(places()) == os.cpu_count()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, ["0", "1"]),
        ("2,3", ["2", "3"]),
        ("GPU-a,GPU-b", ["GPU-a", "GPU-b"]),
        ("", ["0", "1"]),
    ],
)
def test_every_accelerator_that_this_process_has_gets_a_worker(monkeypatch, given, wanted):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "local_devices", lambda: [object(), object()])
    if given is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    assert [place["CUDA_VISIBLE_DEVICES"] for place in places()] == wanted

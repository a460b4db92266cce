"""Sweeps in real processes: whoever is killed, the end is that of an undisturbed sweep."""

import itertools
import os
import re
import signal

import pytest

from randpos.store.folder import Store
from tests.disks import mount, small_disk
from tests.faults.torture import HOOK
from tests.sweeps.processes import (
    GRID,
    Command,
    end,
    is_alive,
    leftovers,
    outcome,
    wait,
    workers_of,
)


def test_stopped_by_the_keyboard_it_continues_does_all_runs_and_then_nothing(
    tmp_path, cache, quiet
):
    """Members that go alone end as in a shared job."""
    command = Command(tmp_path / "runs", cache, "--workers", "1", "--members", "1")
    assert set(quiet) == {experiment.digest for experiment in command.experiments()}

    # The last --save-every counts: no checkpoint but the one that the interrupt asks for.
    process = command.start("--save-every", "3600")
    command.wait_for(process, 3)
    workers = workers_of(process)
    process.send_signal(signal.SIGINT)
    said = end(process, 130)
    assert said.splitlines()[-1] == "randpos: stopped; run the same command again to continue."
    assert not any(is_alive(pid) for pid in workers)
    saved = [int(path.stem[5:]) for path in command.store.glob("*/checkpoints/*.json")]
    assert saved
    done = 10 * len(list(command.store.glob("*/result.json")))
    assert sum(saved) // 100 in range(command.progress() - done - 1, command.progress() - done + 1)

    said = command.finish()
    assert "4/4 done, 0 failed, 0 queued" in said
    assert f"randpos report {command.store}" in said
    assert outcome(command.store) == quiet
    assert leftovers(command.store) == []
    files = {path: path.stat().st_mtime_ns for path in command.store.rglob("*")}
    assert "4/4 done, 0 failed" in command.finish()
    assert {path: path.stat().st_mtime_ns for path in command.store.rglob("*")} == files


@pytest.mark.slow  # the other tests kill workers and stop the driver
def test_a_killed_driver_is_continued_also_when_the_clock_is_set_back(tmp_path, cache, quiet):
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    more = {"PYTHONPATH": str(tmp_path), "TORTURE_CLOCK": "1e8"}
    command = Command(tmp_path / "runs", cache, "--workers", "1", "--members", "1", more=more)
    process = command.start()
    command.wait_for(process, 3)
    workers = workers_of(process)
    process.kill()
    process.communicate()
    assert len(workers) == 1
    wait(lambda: not any(is_alive(pid) for pid in workers))
    # It is no fault of the runs, and what they had done is kept.
    assert not list(command.store.rglob("failure.json"))
    assert command.progress() >= 3
    assert list(command.store.glob("*/checkpoints/*.json"))

    command.environment["TORTURE_CLOCK"] = "2e8"  # three years earlier still
    assert "4/4 done, 0 failed, 0 queued" in command.finish()
    assert outcome(command.store) == quiet
    assert leftovers(command.store) == []


def test_a_killed_worker_is_replaced_and_if_all_are_killed_no_run_has_failed(
    tmp_path, cache, quiet
):
    command = Command(tmp_path / "runs", cache, "--workers", "2")
    process = command.start()
    command.wait_for(process, 3)
    first = workers_of(process)
    assert len(first) == 2
    # Workers may use every core: pinned, those of two sweeps would share some and leave others.
    assert all(os.sched_getaffinity(pid) == os.sched_getaffinity(0) for pid in first)
    os.kill(first[0], signal.SIGKILL)
    wait(lambda: len(set(workers_of(process)) - {first[0]}) == 2)
    command.wait_for(process, command.progress() + 3)
    for pid in workers_of(process):
        os.kill(pid, signal.SIGKILL)
    said = end(process, 2)
    assert "All 2 worker processes were killed" in said.splitlines()[-1]
    assert not list(command.store.rglob("failure.json"))
    assert "4/4 done, 0 failed" in command.finish()
    assert outcome(command.store) == quiet
    assert leftovers(command.store) == []


AUDIT = """
import os, sys
def note(event, arguments):
    if event == "os.rename" and str(arguments[1]).endswith(("result.json", "model.safetensors")):
        line = f"{os.getpid()} {arguments[1]}\\n"
        os.write(log, line.encode())
log = os.open(os.environ["AUDIT"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
sys.addaudithook(note)
"""


@pytest.mark.slow
def test_two_sweeps_share_the_work_and_do_no_run_twice(tmp_path, cache, quiet):
    (tmp_path / "sitecustomize.py").write_text(AUDIT)
    log = tmp_path / "log"
    more = {"PYTHONPATH": str(tmp_path), "AUDIT": str(log)}
    command = Command(tmp_path / "runs", cache, "--workers", "1", "--members", "1", more=more)
    both = [command.start() for _ in range(2)]
    for process in both:
        end(process)
    assert outcome(command.store) == quiet
    written = [line.split() for line in log.read_text().splitlines()]
    # Every result and every model was written once, whoever did it.
    wanted = itertools.product(quiet, ("result.json", "model.safetensors"))
    assert sorted(path for _, path in written) == sorted(
        str(command.store / run / name) for run, name in wanted
    )


BROKEN = """
import jax.numpy as jnp
from randpos import Example, Task

class Picky(Task):
    name = "picky"
    level = "R"
    description = "Answers one."
    symbols = "01"
    output_symbols = "01"
    chance = 0.5

    def output_length(self, length):
        return 1

    def example(self, key, length, maximum):
        {body}
        return Example(jnp.zeros(maximum, int), jnp.zeros(1, int))
"""
TASKS = GRID.format(steps=20, seeds=[0]).replace('task = "reverse_string"', "")
TASKS += 'task = ["picky:Picky", "reverse_string"]'


@pytest.mark.slow  # test_driver.py has runs that fail, test_plan.py those that are tried again
def test_a_failing_run_stops_nothing_tells_its_reason_and_can_be_retried(tmp_path, cache):
    module = tmp_path / "picky.py"
    module.write_text(BROKEN.format(body='raise RuntimeError("no [bold]examples[/x] today")'))
    (tmp_path / "runs").mkdir()
    # The module is found in the folder that the sweep is run in.
    command = Command(tmp_path / "runs", cache, "--workers", "1", grid=TASKS)
    said = command.finish(code=2)
    reason = "RuntimeError: no [bold]examples[/x] today"
    assert f"failed: picky:Picky randomized-sincos seed 0 rate 0.01: {reason}" in said
    assert re.search(r"randpos: 1 of 2 runs failed; .*--retry-failed", said.splitlines()[-1])
    runs = {path.name: Store(command.store).run_at(path.name) for path in command.store.iterdir()}
    states = sorted(run.status() for run in runs.values())
    assert states == ["complete", "failed"]
    assert sorted(str(run.failure()) for run in runs.values()) == ["None", reason]

    module.write_text(BROKEN.format(body="pass"))
    said = command.finish("--retry-failed")
    assert "2/2 done" in said
    assert leftovers(command.store) == []


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", "1m") as folder:
        yield folder


@pytest.mark.slow  # a limit on the size of files is tested in tests/faults
def test_a_full_disk_is_a_sentence_and_with_room_the_sweep_goes_on(disk, cache, quiet):
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(960 * 1024))
    command = Command(disk / "runs", cache, "--workers", "1")
    said = command.finish(code=2)
    assert re.fullmatch(
        r"randpos: .*/runs/.* cannot be used: No space left on device\.", said.splitlines()[-1]
    )
    assert not list(command.store.rglob("failure.json"))
    ballast.unlink()
    command.finish()
    assert outcome(command.store) == quiet
    assert leftovers(command.store) == []

    # And a disk that cannot be written to at all is a sentence too.
    assert mount(disk, "remount,ro,size=1m")
    assert command.finish().startswith("4/4 done")
    said = command.finish("--seeds", "9", code=2)
    assert said.splitlines()[-1].endswith("cannot be used: Read-only file system.")
    assert outcome(command.store) == quiet


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_a_warning(tmp_path, cache, quiet):
    (tmp_path / "file").write_text("")
    command = Command(tmp_path / "runs", cache, "--workers", "1")
    del command.environment["JAX_COMPILATION_CACHE_DIR"]
    command.environment["RANDPOS_CACHE"] = str(tmp_path / "file" / "cache")
    said = command.finish()
    assert said.startswith(f"randpos: {tmp_path / 'file' / 'cache'} is not writable: compiled")
    assert outcome(command.store) == quiet

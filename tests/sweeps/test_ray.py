"""Sweeps on a real Ray cluster of two nodes on this machine, one of which is killed."""

import importlib
import importlib.util
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest

from randpos import UserError
from randpos.store.lock import Lock
from randpos.sweeps import gateway as gateway_module
from randpos.sweeps import remote
from randpos.sweeps.gateway import Gateway
from randpos.sweeps.ray import Ray
from randpos.sweeps.remote import work
from tests.experiments import tiny
from tests.sweeps.processes import Command, end, environment, leftovers, outcome, wait

if importlib.util.find_spec("ray") is None:  # importing it takes seconds in every process
    pytest.skip("Ray is not installed", allow_module_level=True)


class Unlucky(Gateway):
    """A connection to a cluster whose jobs fail in one way before they say on which node.

    Args:
        problem: How they fail.
        connected: What each check of the connection finds; the last one for good.
    """

    def __init__(self, problem: Exception, connected: Sequence[bool] = (True,)) -> None:
        self.connected = list(connected)
        self.said: list[dict[str, Any]] = []
        self.send, self.needs = self.said.append, {}
        self.ray = SimpleNamespace(remote=lambda **_: self._fail, exceptions=ray_exceptions())
        self.problem = problem

    def end_of_a_job(self, store: Path) -> set[str]:
        order = {"job": 7, "store": str(store), "members": [tiny().to_dict()], "save_every": 1.0}
        self.serve(order)
        (end,) = (set(message) for message in self.said if "event" not in message)
        return end

    def _fail(self, *_: Any) -> Any:
        raise self.problem

    def _is_connected(self) -> bool:
        return self.connected.pop(0) if len(self.connected) > 1 else self.connected[0]


def ray_exceptions() -> Any:
    return importlib.import_module("ray.exceptions")


@pytest.mark.parametrize(
    ("error", "kind"), [("NodeDiedError", "outage"), ("WorkerCrashedError", "lost")]
)
def test_a_node_that_dies_before_it_is_known_is_no_fault_of_the_runs(tmp_path, error, kind):
    problem = getattr(ray_exceptions(), error)
    gateway = Unlucky(problem("gone") if error == "NodeDiedError" else problem())
    assert gateway.end_of_a_job(tmp_path) == {"job", kind}


@pytest.mark.parametrize(("connected", "kind"), [([False, True], "outage"), ([True], "lost")])
def test_any_error_of_a_lost_connection_is_no_fault_of_the_runs(
    tmp_path, monkeypatch, connected, kind
):
    monkeypatch.setattr(gateway_module, "CHECK_SECONDS", 0.0)
    gateway = Unlucky(RuntimeError("not connected"), connected)
    assert gateway.end_of_a_job(tmp_path) == {"job", kind}


CLUSTER = """
import sys
import time
from ray.cluster_utils import Cluster
size = {"object_store_memory": 80 * 2**20}
head = {"num_cpus": 1, "include_dashboard": False, "gcs_server_port": int(sys.argv[1]), **size}

def start(others):
    # A busy machine may take longer than Ray waits, and a killed cluster may still hold the port.
    for pause in (2, 5, 10, None):
        try:
            cluster = Cluster(initialize_head=True, head_node_args=head)
            return cluster, [cluster.add_node(num_cpus=1, **size) for _ in range(others)]
        except Exception:
            if pause is None:
                raise
            time.sleep(pause)

cluster, nodes = start(others=1)
print(cluster.address, flush=True)
for line in sys.stdin:
    if line == "kill a node\\n":
        cluster.remove_node(nodes.pop(), allow_graceful=False)  # with SIGKILL
    elif line == "kill\\n":
        for node in (*nodes, cluster.head_node):
            node.kill_all_processes(check_alive=False, allow_graceful=False)
    else:
        cluster, nodes = start(others=0)
    print(line, end="", flush=True)
cluster.shutdown()
"""


class Cluster:
    """Two nodes in a process of their own; a cluster that is started again has one."""

    def __init__(self, errors: IO[str]) -> None:
        self.errors = errors
        with socket.create_server(("", 0)) as server:
            port = server.getsockname()[1]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLUSTER, str(port)],
            stdin=pipe,
            stdout=pipe,
            stderr=errors,
            text=True,
        )
        self.address = self._answer()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        answer = self.process.stdout.readline().strip()
        if not answer:
            self.errors.seek(0)
            pytest.fail(f"the cluster's process ended: {self.errors.read()[-2000:]}")
        return answer

    def do(self, order: str) -> None:
        """Kills a node with all of its processes, kills the whole cluster, or starts a new one."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        assert self._answer() == order


@pytest.fixture
def cluster():
    """Two nodes for one test: what it kills, no other test needs."""
    with tempfile.TemporaryFile("w+") as errors:
        made = Cluster(errors)
        yield made
        made.process.communicate(timeout=300)


def command(tmp_path, cache, cluster: Cluster, **options) -> Command:
    flags = ("--executor", "ray", "--address", cluster.address)
    return Command(tmp_path / "runs", cache, *flags, **options)


@pytest.mark.slow  # the next test ends with the same files, after more trouble
def test_a_cluster_gives_the_same_files_as_this_machine(tmp_path, cache, quiet, cluster):
    ray = command(tmp_path, cache, cluster)
    ray.finish()
    assert outcome(ray.store) == quiet
    assert leftovers(ray.store) == []


def test_a_node_or_a_cluster_that_dies_is_no_fault_of_the_runs(tmp_path, cache, quiet, cluster):
    ray = command(tmp_path, cache, cluster)
    process = ray.start("--reconnect", "300")
    # Lines of metrics are in the driver's store only when files have arrived from a node.
    ray.wait_for(process, 3)
    assert process.poll() is None
    cluster.do("kill a node")
    ray.wait_for(process, ray.progress() + 3)
    assert process.poll() is None
    cluster.do("kill")
    cluster.do("start")
    assert "trying to reconnect" in end(process)
    assert outcome(ray.store) == quiet
    assert leftovers(ray.store) == []
    assert not list(ray.store.rglob("failure.json"))

    # A cluster that does not come back: the runs, which would go on for long, stay unfinished.
    (tmp_path / "endless").mkdir()
    ray = command(tmp_path / "endless", cache, cluster, seeds=1, steps=10_000_000)
    process = ray.start("--reconnect", "1")
    # Lines of metrics arrive alone if a newer checkpoint replaces the one that is being read.
    wait(lambda: process.poll() is not None or any(ray.store.glob("*/checkpoints/*.json")))
    assert process.poll() is None
    cluster.do("kill")
    said = end(process, 2)
    assert "did not come back within 1 s; the runs stay unfinished" in said.splitlines()[-1]
    assert not list(ray.store.rglob("failure.json"))
    assert list(ray.store.glob("*/checkpoints/*.json"))


@pytest.mark.slow
def test_a_killed_driver_is_continued_from_the_checkpoints_that_arrived(
    tmp_path, cache, quiet, cluster
):
    ray = command(tmp_path, cache, cluster)
    process = ray.start()
    ray.wait_for(process, 3)
    process.kill()
    process.communicate()
    assert not list(ray.store.rglob("failure.json"))
    assert list(ray.store.glob("*/checkpoints/*.json"))
    ray.finish()
    assert outcome(ray.store) == quiet
    assert leftovers(ray.store) == []


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:", "127.0.0.1:many", "[::1]:1"]
)
def test_a_cluster_that_is_not_there_is_a_sentence_at_once(tmp_path, address):
    with pytest.raises(UserError, match=f"no Ray cluster at '{re.escape(address)}'; start one"):
        Ray(tmp_path, address)


THREADS = """
import os, jax
from randpos.sweeps.remote import work
list(work([], {}, 1.0))
jax.devices()
tasks = os.listdir("/proc/self/task")
names = [open(f"/proc/self/task/{task}/comm").read().strip() for task in tasks]
print(names.count("tf_XLAEigen"))
"""


def test_a_node_computes_with_one_thread_as_workers_here_do(cache):
    """With several threads XLA adds in another order, and local and Ray would differ."""
    line = [sys.executable, "-c", THREADS]
    output = subprocess.run(
        line, env=environment(cache), capture_output=True, text=True, check=True
    )
    assert output.stdout == "1\n"


def test_what_a_killed_job_left_on_a_node_is_removed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(remote, "enable_cache", lambda: None)
    monkeypatch.setitem(os.environ, "PJRT_NPROC", "1")
    names = [f"{remote.PREFIX}{kind}" for kind in ("left", "busy", "new", "link")]
    left, busy, new, link = (tmp_path / name for name in names)
    other = tmp_path / "other"
    for folder in (left, busy, new, other):
        (folder / "run").mkdir(parents=True)
    link.symlink_to(other)
    lock = Lock(busy)
    for folder in (left, busy, other):
        os.utime(folder, (0, 0))
    os.utime(link, (0, 0), follow_symlinks=False)
    list(work([], {}, 1.0))
    lock.release()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [busy.name, new.name, link.name, other.name]
    )
    assert (other / "run").exists()


def test_work_that_breaks_says_so_instead_of_ending_quietly(monkeypatch):
    def broken(*_):
        raise MemoryError("there is none left")

    monkeypatch.setattr(remote, "perform", broken)
    monkeypatch.setattr(remote, "enable_cache", lambda: None)
    monkeypatch.setitem(os.environ, "PJRT_NPROC", "1")  # which the work sets for good
    found = list(work([tiny().to_dict()], {}, 1.0))
    assert found == [("broken", "MemoryError: there is none left")]

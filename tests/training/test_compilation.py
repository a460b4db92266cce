"""The cache of compiled programs, and compiling once across processes."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import pytest

from randpos.training import compilation
from randpos.training.compilation import cache_folder, compile_once, enable_cache, open_lock
from tests.sweeps.processes import environment


@pytest.fixture
def settings(monkeypatch) -> dict[str, Any]:
    """What is set, instead of setting it for all other tests; another test may have set it."""
    made: dict[str, Any] = {}
    monkeypatch.setattr(type(jax.config), "jax_compilation_cache_dir", None)
    monkeypatch.setattr(type(jax.config), "update", lambda self, k, v: made.update({k: v}))
    return made


def test_the_cache_lies_in_the_users_cache_folder(monkeypatch):
    monkeypatch.delenv("RANDPOS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_folder() == Path("/caches/randpos/xla")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "randpos" / "xla"
    monkeypatch.setenv("RANDPOS_CACHE", "/elsewhere")
    assert cache_folder() == Path("/elsewhere")


def test_the_cache_is_on_by_default(monkeypatch, tmp_path, settings):
    monkeypatch.setenv("RANDPOS_CACHE", str(tmp_path / "new"))
    enable_cache()
    assert settings["jax_compilation_cache_dir"] == str(tmp_path / "new")
    assert (tmp_path / "new").is_dir()


def test_without_a_folder_there_is_a_warning_and_no_cache(monkeypatch, tmp_path, settings):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RANDPOS_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="file is not writable: compiled programs are not kept"):
        enable_cache()
    assert settings == {}


COMPILE = """
import sys, time
import jax, jax.numpy as jnp
from randpos.training.compilation import compile_once

def polynomial(x):
    for _ in range(50):
        x = jnp.sin(x) * x
    return x

program, argument, written = jax.jit(polynomial), jnp.ones(3), []
program.lower(argument)
jax.monitoring.register_event_listener(
    lambda event, **_: written.append(event) if event.endswith("/cache_misses") else None
)
print("ready", flush=True)
sys.stdin.readline()
compile_once(program, argument)
compiled = len(written)
program(argument)
print(compiled, len(written) - compiled)
"""


def test_two_processes_compile_a_program_once(tmp_path):
    """JAX reports each program that it compiles and writes to the cache."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    line = [sys.executable, "-c", COMPILE]
    processes: list[Any] = [
        subprocess.Popen(line, env=environment(tmp_path), **pipes) for _ in range(2)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=900)[0].split() for process in processes]
    assert sorted(said) == [["0", "0"], ["1", "0"]]


COMPILED = jax.jit(lambda: 0).lower().compile()


class Program(jax.stages.Wrapped):
    """Stands for a jitted function: records how often it is compiled, and does something then."""

    def __init__(self, text: str = "module", deed: Callable[[int], Any] = str) -> None:
        self.text, self.deed, self.compiled = text, deed, 0
        self.lock = threading.Lock()

    def lower(self, *_: Any, **__: Any) -> Any:
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    trace = __call__

    def as_text(self) -> str:
        return self.text

    def compile(self) -> jax.stages.Compiled:
        with self.lock:
            self.compiled += 1
            number = self.compiled
        self.deed(number)
        return COMPILED


@pytest.fixture
def cache(monkeypatch, tmp_path) -> Path:
    monkeypatch.setattr(type(jax.config), "jax_compilation_cache_dir", str(tmp_path))
    return tmp_path


def compile_in_threads(*programs: Program) -> None:
    with ThreadPoolExecutor(len(programs)) as pool:
        list(pool.map(compile_once, programs))


def test_those_who_waited_read_the_program_at_the_same_time(cache, monkeypatch):
    """Many workers on one program would otherwise queue to read it."""
    waiting, all_wait, together = set(), threading.Event(), threading.Barrier(3, timeout=300)
    real = compilation.fcntl.flock

    def flock(handle: int, how: int) -> None:
        try:
            real(handle, how)
        except BlockingIOError:
            waiting.add(handle)
            if len(waiting) == 3:
                all_wait.set()
            raise

    monkeypatch.setattr(compilation.fcntl, "flock", flock)
    program = Program(deed=lambda n: all_wait.wait(300) if n == 1 else together.wait())
    compile_in_threads(*[program] * 4)
    assert all_wait.is_set()
    assert program.compiled == 4


def test_different_programs_do_not_wait(cache):
    together = threading.Barrier(2, timeout=300)
    compile_in_threads(*(Program(name, lambda _: together.wait()) for name in ("one", "two")))
    assert not together.broken


HOLD = """
import fcntl, sys, time
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(cache):
    """Another process that holds the lock of the program and never ends on its own."""
    handle = open_lock("module")
    assert handle is not None
    path = next((cache / "locks").iterdir())
    line = [sys.executable, "-c", HOLD, str(path)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_if_the_first_is_killed_one_of_the_others_compiles(holder):
    begun_before_the_first_ended = []

    def slow(number: int) -> None:
        if number == 1:
            time.sleep(0.3)
            begun_before_the_first_ended.append(program.compiled - 1)

    program = Program(deed=slow)
    threading.Timer(0.5, holder.kill).start()
    compile_in_threads(*[program] * 3)
    assert begun_before_the_first_ended == [0]
    assert program.compiled == 3


def test_a_process_that_never_ends_is_not_waited_for(holder, monkeypatch):
    monkeypatch.setattr(compilation, "PATIENCE", 0.2)
    program = Program()
    compile_once(program)
    assert program.compiled == 1


@pytest.mark.parametrize("kind", ["none", "missing", "file", "read-only"])
def test_without_a_writable_cache_nobody_waits(monkeypatch, tmp_path, kind):
    (tmp_path / "file").write_text("")
    (tmp_path / "read-only").mkdir()
    (tmp_path / "read-only" / "locks").write_text("")  # root may write to any folder
    folder = None if kind == "none" else str(tmp_path / kind)
    monkeypatch.setattr(type(jax.config), "jax_compilation_cache_dir", folder)
    program = Program()
    compile_once(program)
    assert program.compiled == 1
    assert open_lock("module") is None

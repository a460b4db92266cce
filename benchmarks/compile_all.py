"""Compiles every training and evaluation program that users ask for, with the compiler's defaults.

    python benchmarks/compile_all.py                     # hours; stopped, it continues
    python benchmarks/compile_all.py --only rope -j 2    # what has "rope" in its name
    python benchmarks/compile_all.py --cover             # a part that covers all pairs, see below

Training: all tasks with the rows of Table 1 at batches 16, 32 and 128, which are those of the
budgets smoke, laptop and paper, and with the other encodings at 32. Evaluation: every size of one
task of each shape (T = n + 1, 2n and 3n) with all encodings. Each outcome is
a line of `runs/compile-all.jsonl`; programs that compiled with the same versions are not compiled
again. What two of them share letter for letter (the gradients of two tasks whose tokens and answers
have the same shapes) is compiled once: the package's cache is on, in `runs/compile-all.cache`.

`--cover` takes two sevenths of them: every task with every row of Table 1, at one of the three
batches and one of its padded sizes in turn; every other encoding on one task; every encoding at
every evaluation size, on one of the three shapes in turn.
"""

import argparse
import dataclasses
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR"):  # as users compile, and every time
    os.environ.pop(_name, None)

import jax
import jax.numpy as jnp

from randpos import Experiment, combinations, resolve
from randpos.experiment import preset
from randpos.numerics import VERSION, compiler_options
from randpos.paper.artifacts import TABLE_1
from randpos.tasks import PAPER_TASKS
from randpos.training.compilation import enable_cache
from randpos.training.engine import Engine
from randpos.training.evaluation import count
from randpos.training.step import make_member
from randpos.training.tested_lengths import sizes

SHAPES = ("missing_duplicate", "reverse_string", "duplicate_string")
"""Tasks whose sequences have n + 1, 2n and 3n tokens."""
VERSIONS = {"jax": jax.__version__, "numerics": VERSION}
BUDGETS = {16: "smoke", 32: "laptop", 128: "paper"}
"""The budget of each batch: it decides how many sizes a program has, and the optimizer."""
FRESH = 20
"""Programs after which a process is replaced, since XLA keeps memory of each."""


class Program(NamedTuple):
    """A program by what it depends on."""

    kind: str
    task: str
    encoding: str
    size: int
    """The batch in training, the longest sequence in evaluation."""
    turn: int | None = None
    """In training, the one size among those that steps are padded to; by default all."""

    def __str__(self) -> str:
        name = f"{self.kind} {self.task} {self.encoding} {self.size}"
        return name if self.turn is None else f"{name}, size {self.turn}"


def programs() -> Iterator[Program]:
    """Lists all programs."""
    for task, encoding in product(PAPER_TASKS, combinations()):
        for batch in (16, 32, 128) if encoding in TABLE_1 else (32,):
            yield Program("train", task, encoding, batch)
    for task, encoding in product(SHAPES, combinations()):
        for size in sizes(Experiment(task=task, encoding=encoding)):
            yield Program("evaluate", task, encoding, size)


def covering() -> Iterator[Program]:
    """Lists a part of the programs that has every task with every encoding of Table 1."""
    for (i, task), (j, encoding) in product(enumerate(PAPER_TASKS), enumerate(TABLE_1)):
        yield Program("train", task, encoding, (16, 32, 128)[(i + j) % 3], 3 * i + j)
    for j, encoding in enumerate(combinations()):
        if encoding not in TABLE_1:
            yield Program("train", SHAPES[j % 3], encoding, 32, j)
        count_of_sizes = len(sizes(Experiment(task=SHAPES[0], encoding=encoding)))
        for k in range(count_of_sizes):
            task = SHAPES[(j + k) % 3]
            found = sizes(Experiment(task=task, encoding=encoding))
            yield Program("evaluate", task, encoding, found[k])


def compile_program(program: Program) -> float:
    """Compiles a program as training or evaluation does, and returns the seconds it took."""
    experiment = Experiment(task=program.task, encoding=program.encoding)
    began = time.perf_counter()
    if program.kind == "train":
        changed = dataclasses.replace(
            preset(BUDGETS[program.size]), task=program.task, encoding=program.encoding
        )
        engine, member = Engine(changed), make_member(changed)
        _compile(engine.start, member)
        shapes = jax.eval_shape(engine.start, member)
        state = jax.eval_shape(engine.packing.pack_state, shapes)
        for number, size in enumerate(engine.sizes):
            if program.turn is None or program.turn % len(engine.sizes) == number:
                engine.programs(state, member, size)
    else:
        parameters, _ = resolve(experiment).skeleton
        counted = partial(count, experiment, program.size, parts=1)
        jitted = jax.jit(counted, compiler_options=compiler_options())
        number = jax.ShapeDtypeStruct((), jnp.int32)
        _compile(jitted, parameters, number, number, number)
    return time.perf_counter() - began


def _compile(jitted: Any, *arguments: Any) -> None:
    jitted.lower(*arguments).compile()


class Log:
    """The outcomes so far, in a file that survives interruption."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        known = [json.loads(line) for line in lines if line.endswith("}")]
        same = (row for row in known if row["versions"] == VERSIONS)
        self.rows: dict[str, dict[str, Any]] = {row["program"]: row for row in same}
        self._lock = threading.Lock()

    def add(self, program: Program, seconds: float, error: str | None) -> None:
        """Appends an outcome, and shows it."""
        row = {
            "program": str(program),
            "seconds": round(seconds, 1),
            "error": error,
            "versions": VERSIONS,
        }
        with self._lock:
            self.rows[str(program)] = row
            with self.path.open("a") as file:
                file.write("\n" * self._is_torn() + json.dumps(row) + "\n")

    def _is_torn(self) -> bool:
        """Returns whether the last line was cut off."""
        return self.path.exists() and self.path.read_bytes()[-1:] not in (b"", b"\n")

    def is_compiled(self, program: Program) -> bool:
        """Returns whether the program was compiled with these versions."""
        row = self.rows.get(str(program))
        return row is not None and row["error"] is None


def work(todo: Iterator[tuple[int, Program]], log: Log, lock: threading.Lock) -> None:
    """Compiles one program after the other, in a process that may die of it."""
    pool = None
    while True:
        with lock:
            left, program = next(todo, (0, None))
        if program is None:
            break
        if pool is None:
            pool = ProcessPoolExecutor(
                1,
                mp_context=get_context("spawn"),
                initializer=enable_cache,
                max_tasks_per_child=FRESH,
            )
        began = time.perf_counter()
        try:
            seconds, error = pool.submit(compile_program, program).result(), None
        except Exception as problem:  # of the compiler, or the death of its process
            seconds = time.perf_counter() - began
            error = f"{type(problem).__name__}: {problem}"[:500]
            pool.shutdown()
            pool = None
        log.add(program, seconds, error)
        state = f"FAILED: {error}" if error else f"{seconds:.1f} s"
        print(f"{program}: {state}, {left - 1} left", flush=True)
    if pool is not None:
        pool.shutdown()


def main(arguments: Sequence[str] | None = None) -> int:
    """Compiles what is missing; returns 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="compile programs with this text in their name")
    parser.add_argument("--cover", action="store_true", help="compile a part, see above")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--log", type=Path, default=Path("runs/compile-all.jsonl"))
    options = parser.parse_args(arguments)
    log = Log(options.log)
    os.environ["RANDPOS_CACHE"] = str(options.log.with_suffix(".cache").absolute())
    listed = covering() if options.cover else programs()
    wanted = [program for program in listed if options.only in str(program)]
    missing = [program for program in wanted if not log.is_compiled(program)]
    print(f"{len(wanted)} programs, {len(wanted) - len(missing)} compiled before", flush=True)
    todo = zip(range(len(missing), 0, -1), missing, strict=True)
    share = (todo, log, threading.Lock())
    workers = [threading.Thread(target=work, args=share, daemon=True) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    rows = [log.rows[str(program)] for program in wanted]
    failed = [row["program"] for row in rows if row["error"]]
    hours = sum(row["seconds"] for row in rows) / 3600
    print(
        f"{len(rows) - len(failed)} of {len(rows)} programs compile, {len(failed)} do not; "
        f"{hours:.2f} h of compilation with jax {jax.__version__}, numerics {VERSION}"
    )
    for name in failed:
        print(f"  {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

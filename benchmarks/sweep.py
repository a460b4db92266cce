"""What a sweep of many short runs costs beside its steps: seconds of the processor.

    python benchmarks/sweep.py                   # 30 runs of 3 programs
    python benchmarks/sweep.py --runs 12 --steps 100

The sweep starts with an empty compilation cache. Its steps alone are timed afterwards, in one
process per program with a filled cache, and multiplied by the number of runs. The difference is
what the sweep adds: starting processes, tracing, compiling, testing and writing.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import tyro

from timing import children_seconds

GRID = """
[fixed]
task = "missing_duplicate"
steps = {steps}
batch = {batch}
test_length = {test_length}
model = {{layers = {layers}}}
evaluation = {{batch = 32, stride = 20}}
[axes]
encoding = ["none", "randomized-sincos", "randomized-relative"]
seed = {seeds}
"""


def time_steps(grid: Path) -> float:
    """Returns the seconds of the processor of the steps of all runs of a grid, and no others."""
    from randpos.sweeps.grid import groups, read_grid
    from randpos.training.compilation import enable_cache
    from randpos.training.engine import STEPS_PER_CALL, Engine
    from randpos.training.step import make_member

    enable_cache()
    total = 0.0
    for group in groups(read_grid(grid).expand()):
        engine, who = Engine(group[0]), make_member(group[0])
        state = engine.pack(engine.start(who))
        for size in engine.sizes:
            engine.programs(state, who, size)
        began = time.process_time()
        for first in range(0, group[0].steps, STEPS_PER_CALL):
            last = min(first + STEPS_PER_CALL, group[0].steps)
            state, _ = engine.advance_packed(state, who, first, last)
        total += len(group) * (time.process_time() - began)
    return total


@dataclass
class Sweep:
    """Runs a sweep of three programs and compares its cost with that of its steps."""

    runs: int = 30
    """Ten seeds of each of three programs."""
    steps: int = 100
    workers: int = 2
    layers: int = 5
    batch: int = 128
    test_length: int = 60
    only_steps: str = ""
    """Times the steps of this grid and prints the seconds; used by the benchmark itself."""

    def __call__(self) -> None:
        """Prints a table in Markdown."""
        if self.only_steps:
            print(time_steps(Path(self.only_steps)))
            return
        with tempfile.TemporaryDirectory() as folder:
            grid = Path(folder) / "grid.toml"
            seeds = list(range(self.runs // 3))
            sizes = {"batch": self.batch, "layers": self.layers, "test_length": self.test_length}
            grid.write_text(GRID.format(steps=self.steps, seeds=seeds, **sizes))
            os.environ |= {"RANDPOS_CACHE": f"{folder}/cache", "JAX_PLATFORMS": "cpu"}
            command = [sys.executable, "-m", "randpos.cli.main", "sweep", str(grid)]
            command += [f"--store={folder}/runs", f"--workers={self.workers}"]
            began, used = time.perf_counter(), children_seconds()
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            spent, used = time.perf_counter() - began, children_seconds() - used
            alone = [sys.executable, __file__, "--only-steps", str(grid)]
            single = {**os.environ, "PJRT_NPROC": "1"}
            steps = float(subprocess.check_output(alone, env=single, text=True))
        print("| runs | steps each | sweep, CPU s | its steps, CPU s | ratio | beside, CPU s | s |")
        print("|---:|---:|---:|---:|---:|---:|---:|")
        print(
            f"| {self.runs} | {self.steps} | {used:.1f} | {steps:.1f} | {used / steps:.2f} × "
            f"| {used - steps:.1f} | {spent:.0f} |"
        )


if __name__ == "__main__":
    tyro.cli(Sweep)()

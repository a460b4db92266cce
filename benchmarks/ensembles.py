"""Members of an ensemble that advance together: seconds of the processor per step of a member.

    python benchmarks/ensembles.py

`vmap` advances all members in one program; `map`, the default on a CPU, one after the other. All
programs are compiled and timed in one process, in turns, and the fastest turn counts.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import tyro

from timing import in_turns, pin


@dataclass
class Ensembles:
    """Times ensembles of several sizes beside a single member."""

    task: str = "missing_duplicate"
    encoding: str = "randomized-relative"
    members: tuple[int, ...] = (2, 4, 8)
    layers: int = 2
    batch: int = 128
    length: int = 40
    """Every step has this length, so that few programs are compiled."""
    turns: int = 3

    def __call__(self) -> None:
        """Prints a table in Markdown."""
        pin()
        runs = {count: self.prepare(count) for count in (1, *self.members)}
        compiling = {}
        for count, run in runs.items():
            began = time.process_time()
            run()
            compiling[count] = time.process_time() - began
        best = {count: used / count for count, used in in_turns(runs, self.turns).items()}
        print("| members | compile and first steps | per step of a member | speed |")
        print("|---|---:|---:|---:|")
        for count, seconds in best.items():
            each, speed = seconds / STEPS * 1000, best[1] / seconds
            print(f"| {count} | {compiling[count]:.1f} s | {each:.1f} ms | {speed:.2f} × |")

    def prepare(self, count: int) -> Callable[[], object]:
        """Returns a function that takes STEPS steps of so many members."""
        import jax
        import numpy as np

        from randpos import Architecture, Experiment, Schedule
        from randpos.training.engine import Engine
        from randpos.training.step import make_member

        experiment = Experiment(
            task=self.task,
            encoding=self.encoding,
            batch=self.batch,
            model=Architecture(layers=self.layers),
            lengths=Schedule("fixed", self.length),
        )
        engine = Engine(experiment)
        who = [make_member(replace(experiment, seed=seed)) for seed in range(count)]
        states = [engine.pack(engine.start(member)) for member in who]
        if count == 1:
            return lambda: engine.advance_packed(states[0], who[0], 0, STEPS)
        together, members = (
            jax.tree.map(lambda *x: np.stack(x), *trees) for trees in (states, who)
        )
        return lambda: engine.advance_packed(together, members, 0, STEPS)


STEPS = 5
"""Steps per turn."""

if __name__ == "__main__":
    tyro.cli(Ensembles)()

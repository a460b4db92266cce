"""The cost of tests: at long lengths, beside training, during training, and of their compilation.

    python benchmarks/evaluation.py lengths      # n = 500 per encoding, and a whole paper run
    python benchmarks/evaluation.py every        # tests during training (--evaluation.every)
    python benchmarks/evaluation.py background   # compiled while training, or when they are needed

Times are those of the processor, on one core: the machines are shared. Only ratios within one run
are worth quoting.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from timing import fastest, pin


def step_seconds(experiment: Any, turns: int) -> float:
    """Returns the seconds of one training step, averaged over four parts of the schedule."""
    from randpos.training.engine import STEPS_PER_CALL, Engine
    from randpos.training.step import make_member

    engine, who = Engine(experiment), make_member(experiment)
    state = engine.pack(engine.start(who))

    def run() -> None:
        for part in range(4):
            first = experiment.steps * part // 4
            engine.advance_packed(state, who, first, first + STEPS_PER_CALL)

    return fastest(run, turns) / (4 * STEPS_PER_CALL)


@dataclass
class Lengths:
    """Tests at n = 500 beside the products, and all tests of a paper run beside its steps.

    The whole evaluation is estimated from the largest length of every size, since a length costs
    as much as the size that it is padded to.
    """

    task: str = "missing_duplicate"
    encodings: tuple[str, ...] = ("none", "randomized-sincos", "randomized-relative")
    examples: int = 100
    """Examples that are timed; the cost is proportional to their number."""
    turns: int = 2
    whole: bool = False
    """Also time every size and the training steps of each encoding."""

    def __call__(self) -> None:
        """Prints a table in Markdown."""
        pin()
        print(
            "| encoding | n = 500, 500 examples | share of peak | compile | all lengths | steps |"
        )
        print("|---|---:|---:|---:|---:|---:|")
        for name in self.encodings:
            print(self.row(name), flush=True)

    def row(self, name: str) -> str:
        """Measures one encoding."""
        import equinox as eqx
        import jax

        from randpos import Evaluation, Experiment, resolve
        from randpos.numerics import random_stream
        from randpos.sweeps.estimate import forward
        from randpos.training.evaluation import Evaluator
        from randpos.training.tested_lengths import sizes

        settings = Evaluation(batch=self.examples)
        experiment = Experiment(task=self.task, encoding=name, evaluation=settings)
        model = resolve(experiment).build(random_stream("parameters", 0))
        parameters = eqx.filter(model, eqx.is_array)
        evaluator = Evaluator(experiment)
        bounds = sizes(experiment) if self.whole else [experiment.test_length]
        began = time.process_time()
        for bound in bounds:
            evaluator.prepare(parameters, bound)
        compiling = time.process_time() - began
        scale = 500 / self.examples
        seconds = {
            n: scale * fastest(lambda n=n: list(evaluator.test(parameters, [n])), self.turns)
            for n in bounds
        }
        share = forward(experiment, 500) * 500 / seconds[500] / self.peak(jax)
        text = f"| {name} | {seconds[500]:.1f} s | {share:.0%} | {compiling:.1f} s "
        if not self.whole:
            return text + "| | |"
        # All lengths up to a size are padded to it.
        counts = [upper - lower for lower, upper in zip([0, *bounds], bounds, strict=False)]
        total = sum(n * seconds[bound] for n, bound in zip(counts, bounds, strict=True))
        steps = 2_000_000 * step_seconds(experiment, self.turns)
        return text + f"| {total / 60:.0f} min | {total / steps:.1%} of {steps / 3600:.0f} h |"

    def peak(self, jax: Any) -> float:
        """Returns the operations per second of a product of two matrices of 1024 × 1024."""
        a = jax.random.normal(jax.random.key(0), (1024, 1024))
        multiply = jax.jit(lambda a: a @ a)
        return 2 * 1024**3 / fastest(lambda: jax.block_until_ready(multiply(a)), 5)


@dataclass
class Every:
    """Seconds of one test during training, beside the steps between two of them."""

    task: str = "missing_duplicate"
    encoding: str = "randomized-relative"
    budget: str = "laptop"
    every: int = 0
    """Steps between two tests; by default as the budget says."""
    turns: int = 2

    def __call__(self) -> None:
        """Prints a table in Markdown."""
        import dataclasses

        from randpos.experiment import preset
        from randpos.setup import choose_maximum
        from randpos.store.folder import Store
        from randpos.training.engine import Engine
        from randpos.training.periodic_tests import PeriodicTests
        from randpos.training.step import make_member

        pin()
        experiment = dataclasses.replace(
            preset(self.budget), task=self.task, encoding=self.encoding
        )
        experiment = choose_maximum(experiment)
        every = self.every or experiment.evaluation.every or experiment.steps // 20
        state = Engine(experiment).start(make_member(experiment))
        tests = PeriodicTests(experiment)
        with tempfile.TemporaryDirectory() as folder:
            run = Store(Path(folder)).run(experiment)
            run.create(experiment)
            test = fastest(lambda: tests.run(state, every, run), self.turns)
        steps = every * step_seconds(experiment, self.turns)
        print("| budget | steps between tests | their steps | a test | cost |")
        print("|---|---:|---:|---:|---:|")
        print(f"| {self.budget} | {every} | {steps:.1f} s | {test:.2f} s | {test / steps:.1%} |")


@dataclass
class Background:
    """How long a run stops for the programs of its tests, each way with an empty cache."""

    steps: int = 400
    layers: int = 2
    once: str = ""
    """Runs one way in this process, `now` or `before`; used by the benchmark itself."""

    def __call__(self) -> None:
        """Prints a table in Markdown."""
        if self.once:
            self.train_and_test()
            return
        print("| programs of tests are compiled | tests, main thread | tests | all |")
        print("|---|---:|---:|---:|")
        for name, label in (("before", "when needed"), ("now", "while training")):
            with tempfile.TemporaryDirectory() as folder:
                line = [sys.executable, __file__, "background", "--once", name]
                line += ["--steps", str(self.steps), "--layers", str(self.layers)]
                kept = {**os.environ, "RANDPOS_CACHE": folder, "JAX_PLATFORMS": "cpu"}
                values = subprocess.check_output(line, env=kept, text=True).split()
            main, waited, total = values
            print(f"| {label} | {main} s CPU | {waited} s | {total} s CPU |", flush=True)

    def train_and_test(self) -> None:
        """Prints the seconds of the main thread in tests, their duration, and all CPU seconds."""
        from randpos import Architecture, Evaluation, Experiment, Schedule, train
        from randpos.training.background import BackgroundTests
        from randpos.training.compilation import enable_cache

        enable_cache()
        experiment = Experiment(
            task="missing_duplicate",
            encoding="randomized-relative",
            steps=self.steps,
            batch=32,
            model=Architecture(layers=self.layers),
            lengths=Schedule("fixed"),
            evaluation=Evaluation(stride=100, batch=4),
        )
        tests = BackgroundTests()
        with tempfile.TemporaryDirectory() as folder:
            report = (lambda now: tests.start(now.experiment)) if self.once == "now" else None
            run = train(experiment, store=folder, report=report, progress=False)
            began, clock = time.thread_time(), time.perf_counter()
            run.evaluate(progress=False, evaluator=tests.evaluator)
            mine, waited = time.thread_time() - began, time.perf_counter() - clock
        print(f"{mine:.1f} {waited:.1f} {time.process_time():.1f}")


if __name__ == "__main__":
    commands = {"lengths": Lengths, "every": Every, "background": Background}
    if sys.argv[1:2] == [] or sys.argv[1] not in commands:
        sys.exit(f"usage: python {sys.argv[0]} {{{','.join(commands)}}}")
    tyro.cli(commands[sys.argv[1]], args=sys.argv[2:])()

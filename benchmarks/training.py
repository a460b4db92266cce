"""Speed of training: steps per second beside PyTorch and beside the bare matrix products.

    python benchmarks/training.py speed        # per task and encoding, one core each
    python benchmarks/training.py throughput   # four members on all cores, by strategy
    python benchmarks/training.py start        # time to the first step, cold and warm cache
    python benchmarks/training.py emitters     # with and without XLA's fusion emitters for the CPU

Contenders are timed in turns within one run, and the fastest turn of each counts. Times are those
of the processor, on one core: the machines are shared. Only ratios are worth quoting.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import tyro

from timing import in_turns, pin

STEPS = 40
"""Steps per turn: their lengths are the first of the uniform schedule over 1..40."""


def our_steps(task: str, encoding: str) -> Callable[[], None]:
    """Returns a function that takes STEPS training steps of the paper's model."""
    from randpos import Experiment
    from randpos.training.engine import Engine
    from randpos.training.step import make_member

    experiment = Experiment(task=task, encoding=encoding)
    engine, who = Engine(experiment), make_member(experiment)
    state = engine.pack(engine.start(who))

    def run() -> None:
        engine.advance_packed(state, who, 0, STEPS)

    return run


def lengths_of(task: str) -> list[tuple[int, int]]:
    """Returns the number of tokens and of answers of each step that is timed."""
    from randpos import Schedule, get_task
    from randpos.tasks.base import total_length
    from randpos.training.lengths import step_length

    problem, schedule = get_task(task), Schedule()
    steps = [int(step_length(schedule, step)) for step in range(STEPS)]
    return [(int(total_length(problem, n)), int(problem.output_length(n))) for n in steps]


def products(task: str) -> Callable[[], None]:
    """Returns a function that computes the matrix products of the same steps, and nothing else.

    Forward and backward products of the five blocks on the whole batch, at lengths rounded to
    multiples of 8 so that few programs are compiled.
    """
    import jax
    import jax.numpy as jnp

    def turn(a):
        return jnp.swapaxes(a, -1, -2)

    @jax.jit
    def multiply(key, x, hidden, heads, weights):
        made = []
        for layer in range(5):
            draw = jax.random.fold_in(key, layer)
            w, up = jax.random.normal(draw, (64, 64)), jax.random.normal(draw, (64, 256))
            for i in range(4):  # the projections to queries, keys and values, and the output
                made += [x[i] @ (w + i), x[i] @ turn(w - i), turn(x[i]) @ x[(i + layer) % 5]]
            made += [x[4] @ up, hidden[0] @ turn(up), turn(x[layer]) @ hidden[0]]
            made += [hidden[1] @ turn(up), x[4] @ up, turn(hidden[1]) @ x[layer]]
            q, k = heads[layer % 2], heads[1 - layer % 2]
            made += [q @ turn(k), k @ turn(q + layer)]
            made += [weights[0] @ (q + layer), weights[1] @ (k - layer)]
            made += [turn(weights[0]) @ (k + layer), turn(weights[1]) @ (q - layer)]
        return [m.ravel()[0] for m in jax.lax.optimization_barrier(made)]

    def arrays(tokens: int):
        key, rows = jax.random.key(tokens), 128 * tokens
        shapes = (
            (5, rows, 64),
            (2, rows, 256),
            (2, 128, 8, tokens, 8),
            (2, 128, 8, tokens, tokens),
        )
        return key, *(jax.random.normal(key, shape) for shape in shapes)

    sizes = [max(8, 8 * round(tokens / 8)) for tokens, _ in lengths_of(task)]
    data = {size: arrays(size) for size in set(sizes)}

    def run() -> None:
        for size in sizes:
            jax.block_until_ready(multiply(*data[size]))

    return run


def torch_steps(task: str) -> Callable[[], None]:
    """Returns a function that takes the same steps with PyTorch's own encoder, in eager mode."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    steps = lengths_of(task)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layer = nn.TransformerEncoderLayer(64, 8, 256, 0.1, batch_first=True)
            self.embedding = nn.Embedding(4, 64)
            self.encoder = nn.TransformerEncoder(layer, 5, enable_nested_tensor=False)
            self.head = nn.Linear(64, 2)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.head(self.encoder(8.0 * self.embedding(tokens)))

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)

    def run() -> None:
        for tokens, answers in steps:
            x = torch.randint(0, 2, (128, tokens))
            y = torch.randint(0, 2, (128, answers))
            logits = model(x)[:, -answers:]
            loss = nn.functional.cross_entropy(logits.transpose(1, 2), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    return run


@dataclass
class Speed:
    """Steps per second on one core, beside PyTorch and beside the bare matrix products."""

    tasks: tuple[str, ...] = ("missing_duplicate", "reverse_string", "stack_manipulation")
    encodings: tuple[str, ...] = ("none", "randomized-sincos", "relative", "randomized-relative")
    turns: int = 3

    def __call__(self) -> None:
        """Prints a table in Markdown."""
        pin(0)
        print("| task | encoding | steps/s | of PyTorch's | time of the products |")
        print("|---|---|---:|---:|---:|")
        for task in self.tasks:
            contenders = {name: our_steps(task, name) for name in self.encodings}
            contenders |= {"PyTorch": torch_steps(task), "products": products(task)}
            for run in contenders.values():
                run()
            best = in_turns(contenders, self.turns)
            for name in self.encodings:
                speed = STEPS / best[name]
                peer, bound = best["PyTorch"] / best[name], best[name] / best["products"]
                print(
                    f"| {task} | {name} | {speed:.1f} | {peer:.2f} × | {bound:.2f} × |", flush=True
                )


@dataclass
class Throughput:
    """Total steps per second of four members on all cores, by strategy."""

    task: str = "missing_duplicate"
    encoding: str = "randomized-relative"
    steps: int = 60
    members: int = 4

    def __call__(self) -> None:
        """Prints a table in Markdown."""
        cores = len(os.sched_getaffinity(0))
        print(f"| strategy ({self.members} members, {cores} cores) | total steps/s | ratio |")
        print("|---|---:|---:|")
        base = None
        for name, workers, strategy in (
            ("one at a time", 1, "map"),
            ("together (vmap)", 1, "vmap"),
            ("one process per core", cores, "map"),
        ):
            speed = self.measure(workers, strategy)
            base = base or speed
            print(f"| {name} | {speed:.1f} | {speed / base:.2f} × |", flush=True)

    def measure(self, workers: int, strategy: str) -> float:
        """Runs the workers side by side; each reports its speed once all of them are warm."""
        share = self.members // workers
        command = [sys.executable, __file__, "worker", "--task", self.task]
        command += ["--encoding", self.encoding, "--steps", str(self.steps), "--strategy", strategy]
        processes = [
            subprocess.Popen(
                [*command, "--members", str(share), "--core", str(core if workers > 1 else -1)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for core in range(workers)
        ]
        return sum(float(process.communicate()[0]) for process in processes)


@dataclass
class Worker:
    """One process of `throughput`: trains members and prints their total steps per second."""

    task: str
    encoding: str
    steps: int
    members: int
    core: int
    strategy: Literal["map", "vmap"]

    def __call__(self) -> None:
        """Trains with training times that leave compilation out."""
        if self.core >= 0:
            pin(self.core)
        from randpos import Experiment, train

        experiment = Experiment(task=self.task, encoding=self.encoding, steps=self.steps)
        with tempfile.TemporaryDirectory() as folder:
            run = train(experiment, seeds=range(self.members), store=folder, strategy=self.strategy)
            seconds = sum(result.seconds for f in run.folders if (result := f.result()))
        print(self.members * self.steps / seconds)


@dataclass
class Start:
    """Seconds from the command to the first step done, on a cold and on a warm cache.

    On a busy machine only the seconds of the processor mean something.
    """

    task: str = "missing_duplicate"
    encoding: str = "randomized-relative"
    budgets: tuple[str, ...] = ("smoke", "laptop", "paper")

    def __call__(self) -> None:
        """Prints a table in Markdown."""
        print("| budget | cache | seconds to the end of the first step | of the processor |")
        print("|---|---|---:|---:|")
        for budget in self.budgets:
            with tempfile.TemporaryDirectory() as folder:
                for cache in ("cold", "warm"):
                    self.measure(budget, cache, folder)

    def measure(self, budget: str, cache: str, folder: str) -> None:
        """Takes the first step of a run in a new process, and prints a row."""
        command = [sys.executable, __file__, "first", "--task", self.task]
        command += ["--encoding", self.encoding, "--budget", budget]
        began, environment = time.perf_counter(), {**os.environ, "RANDPOS_CACHE": folder}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
            used = float((process.stdout or sys.stdin.buffer).readline())
            spent = time.perf_counter() - began  # it goes on to compile what later steps need
        print(f"| {budget} | {cache} | {spent:.1f} | {used:.1f} |", flush=True)


@dataclass
class First:
    """One process of `start`: compiles the programs of a run as `randpos train` does."""

    task: str
    encoding: str
    budget: str

    def __call__(self) -> None:
        """Takes the first step, and prints the seconds of the processor."""
        from dataclasses import replace

        from randpos.experiment import preset
        from randpos.setup import choose_maximum
        from randpos.training.background import compiled_ahead
        from randpos.training.compilation import compile_once, enable_cache
        from randpos.training.engine import Engine
        from randpos.training.step import make_member

        enable_cache()
        experiment = replace(preset(self.budget), task=self.task, encoding=self.encoding)
        experiment = choose_maximum(experiment)
        engine, who = Engine(experiment), make_member(experiment)
        with compiled_ahead(engine, *engine.shapes(experiment)):
            compile_once(engine.start, who)
            engine.advance(engine.start(who), who, 0, 1)
            print(time.process_time(), flush=True)


@dataclass
class Emitters:
    """Compilation and steps of a training program with and without XLA's fusion emitters."""

    task: str = "missing_duplicate"
    encoding: str = "randomized-relative"
    turns: int = 5

    def __call__(self) -> None:
        """Prints a table in Markdown; where the compiler fails, it says so."""
        pin(0)
        from randpos.training import engine

        seconds: dict[str, float] = {}
        contenders = {}
        ours = engine.compiler_options
        for name in ("with", "without"):
            engine.compiler_options = lambda name=name, **once: {
                **(ours(**once) or {}),
                "xla_cpu_use_fusion_emitters": name == "with",
            }
            began = time.process_time()
            contenders[name] = our_steps(self.task, self.encoding)
            contenders[name]()
            seconds[name] = time.process_time() - began
        best = in_turns(contenders, self.turns)
        print("| fusion emitters | CPU seconds to the first steps | steps per second |")
        print("|---|---:|---:|")
        for name, fastest in best.items():
            print(f"| {name} | {seconds[name]:.1f} | {STEPS / fastest:.2f} |", flush=True)


if __name__ == "__main__":
    commands = {"speed": Speed, "throughput": Throughput, "start": Start, "emitters": Emitters}
    commands |= {"worker": Worker, "first": First}  # processes of the others
    names = list(sys.argv[1:2]) if sys.argv[1:2] else ["speed", "throughput", "start"]
    for name in names:
        tyro.cli(commands[name], args=sys.argv[2:])()

"""What sampling costs: compile time, and time and examples per second at n = 40 and n = 500.

    python benchmarks/tasks.py [--task NAME ...] [--json FILE] [--reference SECONDS]

A batch is 128 examples at n = 40 (training) and 500 at n = 500 (evaluation), as in the paper. Each
figure is the fastest of `--repeats` runs of a compiled program: other load disturbs it least. The
last column puts a training batch into proportion: by default to the matrix products of one training
step of the paper's model, alone; with `--reference`, to a step that was measured elsewhere.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from randpos.tasks import TASKS, Task, get_task

TRAINING, EVALUATION = (128, 40), (500, 500)


def seconds(function: Callable[..., Any], *arguments: Any, repeats: int) -> float:
    """Returns the shortest time of a call, after one call to warm up."""
    jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - start)
    return min(times)


def measure(task: Task, batch: int, length: int, repeats: int) -> tuple[float, float]:
    """Returns the seconds to compile a sampler, and those to run it."""
    maximum = length
    sample = jax.jit(lambda key, length: task.sample(key, length, batch, maximum))
    key = jax.random.key(0)
    start = time.perf_counter()
    compiled = sample.lower(key, length).compile()
    compile_time = time.perf_counter() - start
    return compile_time, seconds(compiled, key, length, repeats=repeats)


def matrix_products(repeats: int, batch: int = 128, tokens: int = 41) -> float:
    """Returns the seconds that the matrix products of a training step take, and nothing else.

    5 blocks of 12 · 64² multiplications per token and the attention of 41 tokens (n = 40 and one
    output, the smallest step at n = 40); forwards, and twice as much backwards. Softmax, norms,
    dropout and Adam come on top in a true step.
    """
    tokens_in_batch, width, blocks = batch * tokens, 64, 5
    dense = jnp.ones((width, 12 * width))
    inputs = jnp.ones((tokens_in_batch, width))
    heads = jnp.ones((batch, 8, tokens, 8))

    def products(inputs: jax.Array, heads: jax.Array) -> tuple[jax.Array, jax.Array]:
        projected, mixed = inputs, heads
        for _ in range(3 * blocks):
            projected = (projected @ dense)[:, :width]
            logits = jnp.einsum("bhqd,bhkd->bhqk", mixed, heads)
            mixed = jnp.einsum("bhqk,bhkd->bhqd", logits, heads) * 1e-3
        return projected, mixed

    return seconds(jax.jit(products), inputs, heads, repeats=repeats)


def rows(tasks: list[Task], repeats: int, reference: float) -> list[dict[str, Any]]:
    """Returns the measurements of each task."""
    measured = []
    for task in tasks:
        compile_time, training = measure(task, *TRAINING, repeats)
        long_compile_time, evaluation = measure(task, *EVALUATION, repeats)
        measured.append(
            {
                "task": task.name,
                "compile_s": max(compile_time, long_compile_time),
                "training_ms": 1e3 * training,
                "training_per_s": TRAINING[0] / training,
                "evaluation_ms": 1e3 * evaluation,
                "evaluation_per_s": EVALUATION[0] / evaluation,
                "of_reference": training / reference,
            }
        )
    return measured


def markdown(measured: list[dict[str, Any]]) -> str:
    """Returns the measurements as the table of docs/tasks.md."""
    lines = [
        "| task | compile | 128 × n = 40 | examples/s | 500 × n = 500 | examples/s | of a step |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in measured:
        lines.append(
            f"| {row['task']} | {row['compile_s']:.2f} s "
            f"| {row['training_ms']:.3f} ms | {row['training_per_s']:,.0f} "
            f"| {row['evaluation_ms']:.2f} ms | {row['evaluation_per_s']:,.0f} "
            f"| {100 * row['of_reference']:.2f} % |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", nargs="+", default=list(TASKS), help="names or module:Class")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--reference", type=float, help="seconds of a training step")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    reference = options.reference or matrix_products(options.repeats)
    measured = rows([get_task(name) for name in options.task], options.repeats, reference)
    kind = "given" if options.reference else "matrix products of a step alone"
    print(f"jax {jax.__version__} on {jax.devices()[0].device_kind}; ", end="")
    print(f"reference {1e3 * reference:.1f} ms ({kind})\n\n{markdown(measured)}")
    if options.json:
        options.json.write_text(json.dumps({"reference_s": reference, "rows": measured}, indent=2))


if __name__ == "__main__":
    main()

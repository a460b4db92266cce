"""Tasks as plain data and as text, for the command line."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from randpos.errors import UserError, check_seed, quoted
from randpos.numerics import compiler_options
from randpos.tasks import TASKS
from randpos.tasks.base import Task

MAX_SHOWN = 10_000
"""Largest length and number of examples that are shown."""
FORMULAS = {
    "1": lambda n: 1,
    "n": lambda n: n,
    "n + 1": lambda n: n + 1,
    "n + 2": lambda n: n + 2,
    "2n + 3": lambda n: 2 * n + 3,
    "2n": lambda n: 2 * n,
    "⌈n/2⌉": lambda n: (n + 1) // 2,
}


def text(tokens: Sequence[int] | Int[np.ndarray, " tokens"], symbols: str) -> str:
    """Writes tokens as symbols.

    >>> text([0, 1, 2], "01+")
    '01+'
    """
    return "".join(symbols[int(token)] for token in tokens)


def formula(task: Task) -> str:
    """Returns the output length as a formula in n, or its first values if none is known.

    >>> formula(TASKS["duplicate_string"])
    '2n'
    """
    lengths = range(1, 9)
    values = [int(task.output_length(n)) for n in lengths]
    for name, function in FORMULAS.items():
        if values == [function(n) for n in lengths]:
            return name
    return ", ".join(map(str, values[:4])) + ", …"


def row(task: Task) -> dict[str, Any]:
    """Returns the facts of a task, in the order of a table's columns.

    >>> row(TASKS["parity_check"])["chance"]
    0.5
    """
    return {
        "name": task.name,
        "level": task.level,
        "tokens": task.tokens,
        "classes": task.classes,
        "output_length": formula(task),
        "chance": task.chance,
        "permutation_invariant": task.permutation_invariant,
        "description": task.description,
    }


def table() -> list[dict[str, Any]]:
    """Returns the facts of every task, the paper's first, in its order.

    >>> [row["name"] for row in table()][:2]
    ['even_pairs', 'modular_arithmetic_simple']
    """
    return [row(task) for task in TASKS.values()]


def examples(task: Task, length: int, count: int, seed: int) -> list[dict[str, Any]]:
    """Samples `count` examples of a task, as text and as tokens.

    Returns:
        A dictionary per example: `input` and `output` as text, `ignored` (the end of the output
        that does not enter the accuracy) and the tokens as `inputs`, `outputs` and `counted`.
    """
    for name, value in (("length", length), ("count", count)):
        if value < 1:
            raise UserError(f"The {name} is {quoted(value)}; it must be 1 or more.")
        if value > MAX_SHOWN:
            raise UserError(f"The {name} is {quoted(value)}; it must be {MAX_SHOWN:,} or less.")
    if length * count > 100 * MAX_SHOWN:
        raise UserError(
            f"{count} examples of length {length} are more than {100 * MAX_SHOWN:,} tokens."
        )
    check_seed("seed", seed)
    # Compiled, because running the many small operations one by one takes seconds.
    sample = jax.jit(
        lambda key: task.sample(key, length, count, length),
        compiler_options=compiler_options(once=True),
    )
    batch = sample(jax.random.key(seed))
    shown = []
    for inputs, outputs, counted in zip(*map(np.asarray, batch), strict=True):
        shown.append(
            {
                "input": text(inputs, task.symbols),
                "output": text(outputs[counted], task.output_symbols),
                "ignored": text(outputs[~counted], task.output_symbols),
                "inputs": inputs.tolist(),
                "outputs": outputs.tolist(),
                "counted": counted.tolist(),
            }
        )
    return shown


def show(task: Task, length: int, count: int, seed: int) -> list[str]:
    """Returns examples as lines; what does not count is in brackets.

    >>> show(TASKS["binary_addition"], 12, 1, 0)
    ['010100111+10 → 110100111.[000]']
    """
    lines = []
    for example in examples(task, length, count, seed):
        ignored = f"[{example['ignored']}]" if example["ignored"] else ""
        lines.append(f"{example['input']} → {example['output']}{ignored}")
    return lines

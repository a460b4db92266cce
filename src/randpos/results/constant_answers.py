"""Accuracy without reading the input: the best constant answer of each task, by length.

It is above the chance level where some answers are more frequent than others: the place of a sorted
token nearly determines it, and products mod 5 are often 0. `constant_answers.csv` holds what was
measured, so that results need neither JAX nor sampling; `python -m
randpos.results.constant_answers` writes it anew.
"""

from functools import cache
from pathlib import Path

import polars as pl

from randpos.facts import tasks

FILE = Path(__file__).with_name("constant_answers.csv")
SCHEMA = {"task": pl.String, "length": pl.Int64, "accuracy": pl.Float64}
LENGTHS = [1, 2, 3, 4, 6, 8, 10, 15, 20, 25, 30, 35, 40, 60, 80, 120, 160, 240, 320, 400, 500]
"""Lengths of the file; those between them are interpolated."""
EXAMPLES = 4000


@cache
def constant_answers() -> pl.DataFrame:
    """Returns the columns task, length and accuracy, of all tasks of the package."""
    return pl.read_csv(FILE, schema=SCHEMA)


def measured_accuracy(task: str, length: int) -> float:
    """Returns how often the most frequent class of each output position is right.

    The classes are counted in training examples, and tested on others.
    """
    from randpos.benchmark.references import majority  # here: it loads JAX
    from randpos.benchmark.streams import blocks
    from randpos.tasks import get_task

    problem = get_task(task)
    answer = majority(problem, length, seed=0)
    tested = list(blocks(problem, length, EXAMPLES, 0, "test"))
    right = sum(int(((block.outputs == answer) & block.counted).sum()) for block in tested)
    return right / sum(int(block.counted.sum()) for block in tested)


if __name__ == "__main__":
    rows = [(task, n, round(measured_accuracy(task, n), 3)) for task in tasks() for n in LENGTHS]
    pl.DataFrame(rows, SCHEMA, orient="row").write_csv(FILE)

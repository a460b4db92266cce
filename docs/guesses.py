"""Prints how often guesses are right on ListOps, as docs/open-questions.md cites them."""

import jax
import numpy as np

from randpos import get_task

LISTS = 4000


def most_frequent(answers: np.ndarray) -> int:
    """Counts the most frequent answer."""
    return np.bincount(answers).max()


def main() -> None:
    """Prints a line per length."""
    task = get_task("listops")
    print("length  most frequent answer  the same for each outermost operator")
    for length in (41, 80, 120, 160, 200):
        batch = task.sample(jax.random.key(length), length, LISTS, length)
        first, answers = np.asarray(batch.inputs[:, 0]), np.asarray(batch.outputs[:, 0])
        known = sum(most_frequent(answers[first == operator]) for operator in np.unique(first))
        print(f"{length:6}  {most_frequent(answers) / LISTS:20.1%}  {known / LISTS:36.1%}")


if __name__ == "__main__":
    main()

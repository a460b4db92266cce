"""Which lengths a model is tested at, and the static sizes that they are padded to."""

import bisect
import dataclasses
import math

from randpos.errors import UserError, check_count
from randpos.experiment import MAX_TEST_LENGTH, Experiment
from randpos.setup import resolve
from randpos.training.balanced_lengths import balanced_lengths, spread

TOKENS_PER_SIZE = 500_000
"""Tokens at the longest length whose test takes about as long as a program takes to compile."""


def lengths_to_test(experiment: Experiment, longest: int | None = None) -> list[int]:
    """Returns the lengths to test: one in every `stride`, the training range's ends, the longest.

    Up to M they are those of `balanced_lengths`, so that odd and even lengths weigh about the same
    within N and beyond. Lengths beyond M change none of them.

    >>> from randpos.experiment import Evaluation
    >>> lengths_to_test(Experiment(test_length=60, evaluation=Evaluation(stride=10)))
    [1, 5, 18, 29, 31, 40, 41, 47, 54, 60]
    """
    planned, every = experiment.test_length, experiment.evaluation.stride
    longest = planned if longest is None else longest
    check_longest(experiment, longest)
    beyond = (spread(k, every) for k in range(planned // every + 1, -(-longest // every) + 1))
    found = {
        *balanced_lengths(experiment.lengths.maximum, planned, every),
        *(n for n in beyond if n > planned),
        longest,
    }
    return sorted(n for n in found if n <= longest)


def earlier_lengths(experiment: Experiment) -> list[int]:
    """Returns the lengths up to M that version 0.1 tested before they were balanced.

    Stores hold runs that were tested at these lengths. They count as tested, because their models
    may be gone: a packed run would have to be trained again.

    >>> from randpos.experiment import Evaluation
    >>> earlier_lengths(Experiment(test_length=60, evaluation=Evaluation(stride=10)))
    [1, 4, 18, 22, 36, 40, 41, 50, 53, 60]
    """
    seen, longest = experiment.lengths.maximum, experiment.test_length
    every = experiment.evaluation.stride
    inside = (spread(k, every) for k in range(1, -(-longest // every) + 1))
    return sorted(n for n in {1, seen, seen + 1, longest, *inside} if n <= longest)


def longest_possible(experiment: Experiment) -> int:
    """Returns the longest length that has a position for every token.

    >>> longest_possible(Experiment(task="duplicate_string"))  # three tokens for every one of input
    682
    """
    setup = resolve(experiment)
    if setup.scheme.largest is None:
        return MAX_TEST_LENGTH
    lengths = range(1, setup.scheme.largest + 1)

    def tokens(length: int) -> int:
        return int(setup.layout.total_length(length))

    return bisect.bisect_right(lengths, setup.scheme.largest, key=tokens)


def check_longest(experiment: Experiment, longest: int) -> None:
    """Raises `UserError` if a model cannot be tested at this length.

    Beyond M the limit is L for randomized positions. A model whose number of parameters depends on
    M, as with a learned table of ordinal positions, cannot be tested beyond M.
    """
    check_count("max_length", longest, MAX_TEST_LENGTH)
    planned = experiment.test_length
    if longest <= planned:
        return
    setup, limit = resolve(experiment), longest_possible(experiment)
    if longest > limit:
        raise UserError(
            f"max_length={longest} of {experiment.task} needs more positions than the run's "
            f"L={experiment.positions.maximum}; pass {limit} or less, or train with a larger "
            "--positions.maximum."
        )
    longer = resolve(dataclasses.replace(experiment, test_length=longest))
    if longer.parameter_count != setup.parameter_count:
        raise UserError(
            f"max_length={longest} is beyond M={planned}, and {experiment.encoding} has parameters "
            f"for positions up to M only; pass {planned} or less."
        )


def sizes(experiment: Experiment, longest: int = 0) -> list[int]:
    """Returns the static lengths that tested lengths are padded to: finer where they are short.

    A test of many examples has more of them, since each costs compilation and saves work.

    Args:
        experiment: What is tested.
        longest: Go on beyond M until this length has a size.

    >>> from randpos.experiment import Evaluation
    >>> few = Evaluation(batch=50, stride=10)
    >>> sizes(Experiment(test_length=100, evaluation=few), longest=300)
    [40, 60, 90, 100, 150, 225, 325]
    """
    steps, size, bound = [], float(experiment.lengths.maximum), experiment.test_length
    evaluation = experiment.evaluation
    # The work that padding wastes is inverse to the number of sizes; the best number is the square
    # root of all work over that of compiling a size. 16 sizes for the tests of a paper run.
    work = len(lengths_to_test(experiment)) * evaluation.batch * bound
    widest = min(100.0, bound / math.sqrt(work / TOKENS_PER_SIZE))
    while size < bound:
        steps.append(int(size))
        size = min(size * 1.5, size + widest)
    steps.append(bound)
    while steps[-1] < longest:
        next_size = max(steps[-1] + 1, int(min(steps[-1] * 1.5, steps[-1] + 100)))
        steps.append(min(next_size, longest_possible(experiment)))
    return steps

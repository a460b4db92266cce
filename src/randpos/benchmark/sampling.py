"""`examples`: a finite set of examples, sampled while it is read; `batches`: endless training."""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from randpos.benchmark.streams import Block, Split, blocks, check_length, stream_key
from randpos.errors import UserError, check_count, check_seed, quoted
from randpos.tasks import get_task
from randpos.tasks.base import Task

Lengths = int | Iterable[int]

RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?(?::([0-9]{1,9}))?")
"""A length, or two with a hyphen between them, and a step after a colon."""


@dataclass(frozen=True)
class Examples:
    """`count` examples of each length. Iterating samples them, block by block, in constant memory.

    Every iteration yields the same blocks.
    """

    task: Task
    lengths: tuple[int, ...]
    count: int
    """Examples per length."""
    seed: int = 0
    split: Split = "train"

    def __post_init__(self) -> None:
        check_count("count", self.count)
        stream_key(self.seed, self.split)

    def __len__(self) -> int:
        """Number of examples."""
        return self.count * len(self.lengths)

    def __iter__(self) -> Iterator[Block]:
        for length in self.lengths:
            yield from blocks(self.task, length, self.count, self.seed, self.split)

    def numpy(self) -> dict[int, Block]:
        """Returns all examples in memory: one `Block` per length."""
        by_length = itertools.groupby(self, key=lambda block: block.length)
        return {length: merged(parts) for length, parts in by_length}


def merged(parts: Iterable[Block]) -> Block:
    """Joins blocks of one length."""
    lengths, inputs, outputs, counted = zip(*parts, strict=True)
    return Block(lengths[0], *map(np.concatenate, (inputs, outputs, counted)))


def examples(
    task: str, lengths: Lengths, count: int, seed: int = 0, split: Split = "train"
) -> Examples:
    """Returns `count` examples of each length of a task.

    Args:
        task: A task's name (see `randpos tasks`), or `module:Class` for one of your own.
        lengths: One sampled length n, or several such as `range(1, 41)`.
        count: Examples per length.
        seed: Seed of the examples; the same seed gives the same examples.
        split: `train` or `test`; the two streams are independent.

    >>> data = examples("reverse_string", lengths=[3, 4], count=2, seed=0)
    >>> [(block.length, block.inputs.shape) for block in data]
    [(3, (2, 3)), (4, (2, 4))]
    """
    return Examples(get_task(task), checked_lengths(lengths), count, seed, split)


def checked_lengths(lengths: Lengths) -> tuple[int, ...]:
    """Returns lengths as a sorted tuple without repetitions.

    >>> checked_lengths([5, 3, 5]), checked_lengths(7)
    ((3, 5), (7,))
    """
    wanted = (lengths,) if isinstance(lengths, int | np.integer) else tuple(lengths)
    if not wanted:
        raise UserError("lengths is empty; pass one length or several, such as range(1, 41).")
    for length in wanted:
        if isinstance(length, bool) or not isinstance(length, int | np.integer):
            raise UserError(f"lengths contains {quoted(length)}; each length must be an integer.")
        check_length("length", int(length))
    return tuple(sorted({int(length) for length in wanted}))


def parsed_lengths(text: str) -> tuple[int, ...]:
    """Reads lengths from the command line: numbers and ranges, both ends included.

    >>> parsed_lengths("1-3,10,20-40:10")
    (1, 2, 3, 10, 20, 30, 40)
    """
    found: list[int] = []
    for part in text.split(","):
        read = RANGE.fullmatch(part.strip())
        if read is None:
            raise UserError(f"lengths={quoted(text)} cannot be read; write 1-40,50,100-500:100.")
        start, end, stride = (int(n) for n in (read[1], read[2] or read[1], read[3] or "1"))
        check_length("length", start)
        check_length("length", end)
        if end < start or stride < 1:
            raise UserError(f"lengths={quoted(text)} has an empty range {quoted(part)}.")
        found += range(start, end + 1, stride)
    return checked_lengths(found)


def batches(
    task: str, lengths: Lengths = range(1, 41), batch: int = 128, seed: int = 0
) -> Iterator[Block]:
    """Yields training batches without end; each has one length, drawn uniformly, as in the paper.

    Args:
        task: A task's name, or `module:Class`.
        lengths: The lengths to draw from; the paper trains on 1..40.
        batch: Examples per batch.
        seed: Seed of lengths and examples. The examples are those of the split `train`: batch k of
            a length continues where its batch k − 1 ended.
    """
    chosen, known = get_task(task), checked_lengths(lengths)
    check_count("batch", batch)
    check_seed("seed", seed)
    return _draw(chosen, known, batch, seed)


def _draw(task: Task, lengths: tuple[int, ...], batch: int, seed: int) -> Iterator[Block]:
    rng = np.random.default_rng(seed)
    used = dict.fromkeys(lengths, 0)
    while True:
        length = int(rng.choice(lengths))
        yield merged(blocks(task, length, batch, seed, "train", used[length]))
        used[length] += batch

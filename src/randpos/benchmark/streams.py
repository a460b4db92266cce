"""Streams of examples: which random key belongs to a split, a seed and a length.

Example i of a stream depends on the seed, the split, the length and i alone. Neither the block
size nor the other lengths of a data set change it.
"""

import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import jax
import numpy as np
from jaxtyping import Array, Bool, Int32, Key

from randpos.errors import UserError, check_count, check_seed, unknown
from randpos.numerics import compiler_options
from randpos.tasks.base import Batch, Task

Split = Literal["train", "test"]

TAGS: dict[Split, int] = {"train": 0x74726169, "test": 0x74657374}
"""Constants folded into the key. The streams of two tags are independent: they share an example
only by chance, which is certain at length 5 (32 strings of bits) and negligible at length 41."""
LONGEST = 2**16
"""Longest length of an example; the tasks are exact up to here."""
TOKENS = 2**20
"""Tokens per block, so that memory does not grow with the length or the number of examples."""
ROWS = 2**13
"""Most examples per block."""

_PROCESS = os.getpid()


class Block(NamedTuple):
    """Examples of one length, as NumPy arrays without padding."""

    length: int
    """The sampled length n."""
    inputs: Int32[np.ndarray, "examples input"]
    outputs: Int32[np.ndarray, "examples output"]
    counted: Bool[np.ndarray, "examples output"]
    """Marks the outputs that enter the accuracy: all up to the first terminator."""


def check_length(name: str, length: int) -> None:
    """Raises `UserError` if the tasks are not defined at this length."""
    check_count(name, length, LONGEST)


def stream_key(seed: int, split: Split) -> Key[Array, ""]:
    """Returns the key of a stream; that of a length is one `fold_in` away.

    The generator is named, so that a changed JAX default does not change the data.
    """
    check_seed("seed", seed)
    if split not in TAGS:
        raise unknown("split", split, get_args(Split))
    return jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), TAGS[split])


def blocks(
    task: Task, length: int, count: int, seed: int, split: Split, first: int = 0
) -> Iterator[Block]:
    """Yields examples `first` to `first + count` of one length, block by block.

    Args:
        task: The task.
        length: The sampled length n.
        count: Number of examples.
        seed: Seed of the stream.
        split: `train` or `test`.
        first: Index of the first example.
    """
    if os.getpid() != _PROCESS:
        raise UserError(
            "Examples cannot be sampled in a forked process, where JAX may deadlock; "
            "pass multiprocessing_context='spawn' to the DataLoader, or num_workers=0."
        )
    check_length("length", length)
    key = jax.random.fold_in(stream_key(seed, split), length)
    maximum = max(64, 1 << (length - 1).bit_length())
    inputs, outputs = int(task.input_length(length)), int(task.output_length(length))
    size = _block_size(task, maximum, count)
    sample = _sampler(task, maximum, size)
    for start in range(first, first + count, size):
        rows = min(size, first + count - start)
        # Copies, so that a block does not keep its padded buffers alive.
        tokens, answers, counted = map(np.asarray, sample(key, length, start))
        yield Block(
            length,
            tokens[:rows, :inputs].copy(),
            answers[:rows, :outputs].copy(),
            counted[:rows, :outputs].copy(),
        )


def _block_size(task: Task, maximum: int, count: int) -> int:
    """Returns a power of two, so that few programs are compiled."""
    tokens = int(task.input_length(maximum)) + int(task.output_length(maximum))
    most = max(1, min(ROWS, TOKENS // tokens))
    return min(1 << (most.bit_length() - 1), 1 << max(5, (count - 1).bit_length()))


@lru_cache(maxsize=64)
def _sampler(task: Task, maximum: int, size: int) -> Callable[..., Batch]:
    """Compiles a sampler that serves every length up to `maximum`."""

    def sample(key: Key[Array, ""], length: Int32[Array, ""], start: Int32[Array, ""]) -> Batch:
        return task.sample(key, length, size, maximum, start)

    return jax.jit(sample, compiler_options=compiler_options())

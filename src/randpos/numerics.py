"""What the bits of a run depend on besides its settings: random streams and compiler options.

Bits are promised within one `VERSION`. Raise it (in `bits.py`) with every change that alters the
numbers of training or evaluation at unchanged settings. Every run records the version that it began
under.
"""

import os
import zlib
from typing import Literal

import jax
from jaxtyping import Array, Integer, Key

from randpos.bits import VERSION as VERSION

Use = Literal["parameters", "training", "lengths", "tests"]


def random_stream(use: Use, seed: int | Integer[Array, ""]) -> Key[Array, ""]:
    """Returns the root key of one use of a seed.

    Uses never share a key: without the tag, the test batch of length 1 and the training batches
    of seed 0 would come from the same key.

    >>> import jax
    >>> keys = [random_stream(use, 0) for use in ("training", "tests")]
    >>> bool((jax.random.key_data(keys[0]) == jax.random.key_data(keys[1])).any())
    False
    """
    return jax.random.fold_in(jax.random.key(seed), zlib.crc32(use.encode()))


def compiler_options(*, once: bool = False) -> dict[str, bool | int] | None:
    """Returns the options that every program of this package is compiled with.

    XLA's fusion emitters for the CPU (jax 0.10) give two functions one name in some programs, such
    as `even_pairs` with `rope` at batch 16, and then fail. LLVM's first level of optimization
    compiles a fifth faster than its third and gives steps of the same speed: most of their time is
    in matrix products, which are not compiled. docs/performance.md has the measurements.

    Args:
        once: For a program that runs once per run: it is compiled without optimization.

    A level in `XLA_FLAGS` counts more: the tests are compiled without optimization.
    """
    if jax.default_backend() != "cpu":
        return None
    options: dict[str, bool | int] = {"xla_cpu_use_fusion_emitters": False}
    if "xla_backend_optimization_level" not in os.environ.get("XLA_FLAGS", ""):
        options["xla_backend_optimization_level"] = 0 if once else 1
    return options

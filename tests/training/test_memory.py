"""Evaluation of the longest sequences fits into 4 GiB, by the compiler's own account."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest

from randpos import Experiment, PositionOptions, resolve
from randpos.numerics import compiler_options
from randpos.training.evaluation import count

GIB = 2**30


@pytest.mark.parametrize(
    ("encoding", "reading"),
    [
        ("randomized-relative", "distances"),
        ("randomized-relative", "positions"),
        ("geometric", None),
    ],
)
def test_duplicate_string_at_length_500_stays_under_4_gib(encoding, reading):
    options = PositionOptions(reading=reading or "default")
    experiment = Experiment(task="duplicate_string", encoding=encoding, positions=options)
    shapes, _ = resolve(experiment).skeleton
    program = jax.jit(partial(count, experiment, 500), compiler_options=compiler_options())
    memory = program.lower(shapes, jnp.int32(500)).compile().memory_analysis()
    assert resolve(experiment).longest_sequence == 1500
    assert memory is not None
    # The libraries themselves take less than 0.5 GiB.
    assert memory.temp_size_in_bytes + memory.argument_size_in_bytes < 3.5 * GIB


def test_the_compiler_takes_the_program_that_its_fusion_emitters_choke_on():
    experiment = Experiment(task="missing_duplicate", encoding="relative")
    shapes, _ = resolve(experiment).skeleton
    program = jax.jit(partial(count, experiment, 302), compiler_options=compiler_options())
    assert program.lower(shapes, jnp.int32(302)).compile() is not None

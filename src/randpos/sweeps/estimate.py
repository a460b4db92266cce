"""The cost of a run before it is run: floating-point operations, seconds, and bytes on disk."""

import bisect
import time
from collections.abc import Sequence
from typing import NamedTuple

import jax

from randpos.experiment import Experiment
from randpos.setup import resolve
from randpos.sweeps.grid import groups
from randpos.training.engine import STEPS_PER_CALL, Engine
from randpos.training.step import make_member
from randpos.training.tested_lengths import lengths_to_test, sizes

TEST_COMPILATION = 0.3
"""Time to compile the test program of one size, relative to that of the training program.

An assumption, not a measurement."""


def forward(experiment: Experiment, length: int) -> float:
    """Returns the operations of the forward pass of one example, matrix products only.

    With T tokens, |y| answers, width d and feed-forward width h, a block takes 8 d² + 4 d h per
    token and 4 T d per query. The last block has |y| queries only, and its keys and values take
    4 d² per token. `Encoding.operations` adds those of the encoding.
    """
    model = experiment.model
    d, h, blocks = model.dim, model.hidden, model.layers
    setup = resolve(experiment)
    tokens = int(setup.layout.total_length(length))
    answers = int(setup.task.output_length(length))
    per_query = 4 * d * d + 4 * d * h + 4 * tokens * d
    per_query += setup.combination.encoding.operations(setup.shape, tokens)
    queries = (blocks - 1) * tokens + answers
    return queries * per_query + blocks * tokens * 4 * d * d


def training(experiment: Experiment) -> float:
    """Returns the operations of training: a backward pass is two forward passes."""
    schedule = experiment.lengths
    lengths = [schedule.maximum] if schedule.name == "fixed" else range(1, schedule.maximum + 1)
    mean = sum(forward(experiment, n) for n in lengths) / len(lengths)
    return 3 * mean * experiment.batch * experiment.steps


def testing(experiment: Experiment) -> float:
    """Returns the operations of testing at all lengths that the experiment asks for."""
    lengths = lengths_to_test(experiment)
    # A decoder is tested twice: it generates the answers, then reads the right ones.
    times = 2 if experiment.answers == "autoregressive" else 1
    return times * experiment.evaluation.batch * sum(forward(experiment, n) for n in lengths)


def parameters(experiment: Experiment) -> int:
    """Returns the number of parameters."""
    return resolve(experiment).parameter_count


def disk(experiment: Experiment) -> int:
    """Returns the bytes of a finished run: parameters, metrics and accuracies."""
    return 4 * parameters(experiment) + experiment.steps // 100 * 160 + 20_000


class Cost(NamedTuple):
    """The cost of a set of runs."""

    runs: int
    training: float
    """Operations."""
    testing: float
    """Operations."""
    disk: int
    """Bytes."""

    @property
    def operations(self) -> float:
        """Operations of training and testing."""
        return self.training + self.testing


def cost(experiments: Sequence[Experiment]) -> Cost:
    """Returns the total cost of experiments; computes it once for each program."""
    total = Cost(0, 0.0, 0.0, 0)
    for group in groups(experiments):
        first, count = group[0], len(group)
        total = Cost(
            total.runs + count,
            total.training + count * training(first),
            total.testing + count * testing(first),
            total.disk + count * disk(first),
        )
    return total


class Speed(NamedTuple):
    """The measured speed of one worker."""

    operations: float
    """Operations per second of training."""
    compilation: float
    """Seconds to compile a program for training."""

    def seconds(self, missing: Sequence[Experiment], workers: int) -> tuple[float, float]:
        """Estimates a sweep.

        A program also needs one compilation for each size of the test sequences. One of them takes
        about `TEST_COMPILATION` times as long as the program for training.

        Returns:
            Seconds of compilation, and seconds of training and testing.
        """
        programs = [group[0] for group in groups(missing)]
        compilations = sum(1 + TEST_COMPILATION * _test_sizes(program) for program in programs)
        share = min(workers, max(1, len(programs)))
        together = min(workers, max(1, len(missing)))
        return (
            self.compilation * compilations / share,
            cost(missing).operations / self.operations / together,
        )


def _test_sizes(experiment: Experiment) -> int:
    """Returns how many static sizes the tested lengths are padded to."""
    bounds = sizes(experiment)
    return len({bisect.bisect_left(bounds, length) for length in lengths_to_test(experiment)})


def measure_speed(experiment: Experiment) -> Speed:
    """Compiles the training program of an experiment in this process and takes some steps.

    The compilation counts in full even if the program comes from the cache.
    """
    saved: list[float] = []

    def listen(event: str, duration_secs: float, **_: object) -> None:
        if event == "/jax/compilation_cache/compile_time_saved_sec":
            saved.append(duration_secs)

    engine, who = Engine(experiment), make_member(experiment)
    steps = min(STEPS_PER_CALL, experiment.steps)
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        began = time.perf_counter()
        state = engine.pack(engine.start(who))
        for size in engine.sizes:
            engine.programs(state, who, size)
        compilation = time.perf_counter() - began + sum(saved)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    began = time.perf_counter()
    engine.advance_packed(state, who, 0, steps)  # its metrics wait for the device
    seconds = time.perf_counter() - began
    return Speed(training(experiment) * steps / experiment.steps / seconds, compilation)

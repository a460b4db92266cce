"""The compiled programs of training, each compiled when a step first needs it.

A step draws its batch, takes the gradient in the program of the size that its length is padded to,
and updates the parameters: three programs, of which only the second one depends on the length. The
host knows the length of every step beforehand, so it only says which program is next, and does not
wait for the device between steps.
"""

import bisect
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from randpos.experiment import Experiment
from randpos.numerics import compiler_options, random_stream
from randpos.setup import resolve
from randpos.training.batch import DrawnBatch
from randpos.training.compilation import Compiling, compile_once, silent
from randpos.training.lengths import bucket_count, buckets, step_length
from randpos.training.optimizer import make_optimizer, rate_factor, update_average
from randpos.training.packing import Packed, Packing
from randpos.training.step import Member, State, draw_step, gradients, make_member

STEPS_PER_CALL = 20
"""Steps that are sent to the device before the host waits for their results."""
NUMBER = jax.ShapeDtypeStruct((), jnp.int32)
"""The number of a step, or its length: the same for all members of an ensemble."""

Program = jax.stages.Compiled
Which = tuple[str | int, tuple[int, ...]]
"""A program: its name, or the size that its sequences are padded to, and the shape of members."""


class Metrics(NamedTuple):
    """Loss and accuracy of each step; of an ensemble, of each member first."""

    loss: Float[np.ndarray, "*member step"]
    accuracy: Float[np.ndarray, "*member step"]


class Step(NamedTuple):
    """The programs of a step."""

    draw: Program
    """`(Member, step, length) -> (DrawnBatch, key of dropout)`."""
    gradients: Program
    """`(parameters, DrawnBatch, key of dropout, length) -> (gradient, loss, accuracy)`."""
    update: Program
    """`(State, gradient, Member, step) -> State`."""


class Engine:
    """Trains an experiment with any seed and learning rate.

    While steps are taken, a state is packed (see `Packing`). A packed state and its `Member` may
    have a leading axis: the members of an ensemble, which then take their steps together.

    Args:
        experiment: What is trained; its seed and learning rate do not matter.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.setup = experiment, resolve(experiment)
        self.optimizer = make_optimizer(experiment)
        schedule, stack_blocks = experiment.lengths, experiment.optimizer.name == "muon"
        count = bucket_count(schedule, experiment.steps, experiment.batch)
        self.sizes = buckets(schedule.maximum, count)
        """The lengths that steps are padded to."""
        self.packing = Packing(self.setup.skeleton[0], stack_blocks=stack_blocks)
        once = compiler_options(once=True)
        self.start = jax.jit(self._start, compiler_options=once)
        """Initialises a member: `Member -> State`."""
        self._lengths = jax.jit(jax.vmap(partial(step_length, schedule)), compiler_options=once)
        self._compiled: dict[Which, Program] = {}
        self._locks: dict[Which, threading.Lock] = {}

    def advance(self, state: State, who: Member, first: int, last: int) -> tuple[State, Metrics]:
        """Takes the steps from the first to before the last number.

        Args:
            state: The state after `first` steps.
            who: Whose state it is.
            first: The number of the first step.
            last: The number after that of the last step.
        """
        packed, metrics = self.advance_packed(self.pack(state), who, first, last)
        return self.unpack(packed), metrics

    def shapes(self, experiment: Experiment) -> tuple[State, Member]:
        """Returns the shapes of a packed state, and whose it is."""
        who = make_member(experiment)
        state = jax.eval_shape(self.start, who)
        return jax.eval_shape(self.packing.pack_state, state), who

    def pack(self, state: State) -> State:
        """Packs a state, on the host: no program is compiled for it."""
        return self.packing.pack_state(jax.tree.map(np.asarray, state))

    def unpack(self, packed: State) -> State:
        """Undoes `pack`."""
        return self.packing.unpack_state(jax.tree.map(np.asarray, packed))

    def advance_packed(
        self, state: State, who: Member, first: int, last: int
    ) -> tuple[State, Metrics]:
        """Does to a packed state what `advance` does."""
        found = []
        for number, length in zip(range(first, last), self.lengths(first, last), strict=True):
            step = self.programs(state, who, self.size_of(length))
            at, n = np.int32(number), np.int32(length)
            grads, *values = step.gradients(state.parameters, *step.draw(who, at, n), n)
            state = step.update(state, grads, who, at)
            found.append(values)
        # [step, metric, *member]; fetching it waits for the device.
        shape = (len(found), 2, *who.seed.shape)
        values = np.asarray(jax.device_get(found), np.float32).reshape(shape)
        return state, Metrics(*np.moveaxis(values, 0, -1))

    def prepare(
        self, state: State, who: Member, first: int, last: int, compiling: Compiling = silent
    ) -> None:
        """Compiles what the steps of `advance_packed` need and is not compiled yet.

        `compiling` is entered while a program is compiled.
        """
        for size in sorted({self.size_of(length) for length in self.lengths(first, last)}):
            self.programs(state, who, size, compiling)

    def lengths(self, first: int, last: int) -> list[int]:
        """Returns the lengths of the steps from the first to before the last number."""
        found: list[int] = []
        for begin in range(first, last, STEPS_PER_CALL):
            numbers = np.arange(begin, begin + STEPS_PER_CALL, dtype=np.int32)
            found += np.asarray(self._lengths(numbers)).tolist()
        return found[: last - first]

    def size_of(self, length: int) -> int:
        """Returns the smallest size that a length fits into."""
        return self.sizes[bisect.bisect_left(self.sizes, length)]

    def programs(self, state: State, who: Member, size: int, compiling: Compiling = silent) -> Step:
        """Returns the programs of a step; compiles those that are new. Any thread may call this.

        Args:
            state: A packed state, for its shapes.
            who: Whose state it is.
            size: The length that the step is padded to.
            compiling: Entered while a program is compiled, in any thread.
        """
        members = who.seed.shape
        keys = ("draw", members), (size, members), ("update", members)
        if any(key not in self._compiled for key in keys):
            with compiling(f"steps of lengths up to {size} (once per task and encoding; cached)"):
                draw = self._compile(keys[0], self._draw, who, NUMBER, NUMBER)
                drawn = jax.tree.map(_shape, draw.out_info)
                take = partial(self._gradients, size)
                self._compile(keys[1], take, state.parameters, *drawn, NUMBER)
                self._compile(keys[2], self._update, state, state.parameters, who, NUMBER)
        return Step(*(self._compiled[key] for key in keys))

    def _compile(self, key: Which, function: Callable[..., Any], *arguments: Any) -> Program:
        """Compiles a program, unless it is or another thread is about to."""
        with self._locks.setdefault(key, threading.Lock()):
            if key not in self._compiled:
                if key[1]:
                    axes = [None if x is NUMBER else 0 for x in arguments]
                    function = jax.vmap(function, in_axes=axes)
                jitted = jax.jit(function, compiler_options=compiler_options())
                self._compiled[key] = compile_once(jitted, *arguments)
            return self._compiled[key]

    def _start(self, member: Member) -> State:
        model = self.setup.build(random_stream("parameters", member.seed))
        parameters = eqx.filter(model, eqx.is_array)
        average = parameters if self.experiment.optimizer.average else None
        return State(parameters, self.optimizer.init(parameters), average)

    def _draw(
        self, member: Member, number: Int[Array, ""], length: Int[Array, ""]
    ) -> tuple[DrawnBatch, Key[Array, ""]]:
        key = jax.random.fold_in(random_stream("training", member.seed), number)
        return draw_step(self.setup, key, length)

    def _gradients(
        self,
        size: int,
        parameters: Packed,
        drawn: DrawnBatch,
        dropout: Key[Array, ""],
        length: Int[Array, ""],
    ) -> tuple[Packed, Float[Array, ""], Float[Array, ""]]:
        unpacked = self.packing.unpack(parameters)
        grads, loss, accuracy = gradients(self.setup, size, unpacked, drawn, dropout, length)
        return self.packing.pack(grads), loss, accuracy

    def _update(self, state: State, grads: Packed, member: Member, number: Int[Array, ""]) -> State:
        options, before = self.experiment.optimizer, state.parameters
        updates, slots = self.optimizer.update(grads, state.optimizer, before)
        rate = member.learning_rate * rate_factor(options, self.experiment.steps, number)
        updates = jax.tree.map(lambda u: -rate * u, updates)
        parameters, average = optax.apply_updates(before, updates), state.average
        if average is not None:
            average = update_average(average, parameters, options.average, number)
        return State(parameters, slots, average)


def _shape(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)

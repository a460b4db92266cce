"""Programs of training: compiled when a step first needs them, or ahead of it in a thread."""

import contextlib
import threading
from collections.abc import Iterator

import jax
import numpy as np
import pytest

from randpos import Schedule
from randpos.training import BACKGROUND, background, engine
from randpos.training.background import compiled_ahead
from randpos.training.engine import Engine
from randpos.training.step import make_member
from tests.experiments import tiny

GROWING = tiny(encoding="none", lengths=Schedule("regular_increase", 4, initial=2, every=20))
"""Lengths up to 2 in the first 20 steps, and then longer ones."""


@pytest.fixture
def two_sizes(monkeypatch) -> Engine:
    monkeypatch.setattr(engine, "bucket_count", lambda *_: 2)
    return Engine(GROWING)


class Recorder:
    """Records what is compiled."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    @contextlib.contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        self.seen.append(what.partition(" (")[0])
        yield


def test_a_size_is_compiled_when_a_step_first_needs_it(two_sizes):
    who, compiling = make_member(GROWING), Recorder()
    state = two_sizes.pack(two_sizes.start(who))
    assert max(two_sizes.lengths(0, 20)) == 2 < max(two_sizes.lengths(20, 60))
    two_sizes.prepare(state, who, 0, 20, compiling)
    assert compiling.seen == ["steps of lengths up to 2"]
    two_sizes.prepare(state, who, 0, 60, compiling)
    assert compiling.seen[1:] == ["steps of lengths up to 4"]
    two_sizes.prepare(state, who, 0, 60, compiling)
    assert len(compiling.seen) == 2


def test_what_is_compiled_ahead_no_step_waits_for(two_sizes, monkeypatch):
    monkeypatch.setattr(background, "available_cores", lambda: 2)
    who, compiling = make_member(GROWING), Recorder()
    with compiled_ahead(two_sizes, *two_sizes.shapes(GROWING)):
        for thread in threading.enumerate():
            if thread.name == BACKGROUND:
                thread.join(timeout=600)
    state = two_sizes.pack(two_sizes.start(who))
    two_sizes.prepare(state, who, 0, 60, compiling)
    assert compiling.seen == []


@pytest.mark.parametrize(("cores", "threads"), [(1, 0), (2, 1)])
def test_nothing_is_compiled_ahead_without_a_second_core(monkeypatch, two_sizes, cores, threads):
    started = []
    monkeypatch.setattr(background, "available_cores", lambda: cores)
    monkeypatch.setattr(background, "compile_in_background", lambda *_: started.append(1))
    with compiled_ahead(two_sizes, *two_sizes.shapes(GROWING)):
        assert len(started) == threads


def test_shapes_are_those_of_a_packed_state(two_sizes):
    shapes, who = two_sizes.shapes(GROWING)
    state = two_sizes.pack(two_sizes.start(who))
    assert jax.tree.map(lambda x: (x.shape, x.dtype), shapes) == jax.tree.map(
        lambda x: (x.shape, x.dtype), state
    )


def test_packing_on_the_host_and_back_changes_no_bit(two_sizes):
    state = two_sizes.start(make_member(GROWING))
    back = two_sizes.unpack(two_sizes.pack(state))
    assert jax.tree.structure(back) == jax.tree.structure(state)
    for a, b in zip(jax.tree.leaves(back), jax.tree.leaves(state), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)

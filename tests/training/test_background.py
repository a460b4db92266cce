"""Programs of tests that are compiled while a run trains."""

import threading

import equinox as eqx
import jax
import pytest

from randpos.training import BACKGROUND, background
from randpos.training.background import BackgroundTests
from randpos.training.evaluation import Evaluator
from randpos.training.tested_lengths import lengths_to_test, sizes
from tests.experiments import random_model, tiny

EXPERIMENT = tiny(test_length=8)


def join() -> None:
    for thread in threading.enumerate():
        if thread.name == BACKGROUND:
            thread.join(timeout=600)


def test_the_tests_compile_nothing_more_and_find_the_same(monkeypatch):
    monkeypatch.setattr(background, "available_cores", lambda: 2)
    parameters = eqx.filter(random_model(EXPERIMENT), eqx.is_array)
    tests = BackgroundTests()
    tests.start(EXPERIMENT)
    join()
    assert tests.evaluator is not None
    assert {size for size, _ in tests.evaluator.programs} == set(sizes(EXPERIMENT))
    lengths, compiled = lengths_to_test(EXPERIMENT), []
    fresh = list(Evaluator(EXPERIMENT).test(parameters, lengths))  # also compiles what is eager

    def listen(event: str, duration_secs: float, **_: object) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        assert list(tests.evaluator.test(parameters, lengths)) == fresh
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert compiled == []


def test_it_stops_between_two_programs(monkeypatch):
    monkeypatch.setattr(background, "available_cores", lambda: 2)
    asked, tests = [], BackgroundTests()

    def prepare(self: Evaluator, parameters: object, length: int) -> None:
        asked.append(length)
        tests.stop()

    monkeypatch.setattr(Evaluator, "prepare", prepare)
    tests.start(EXPERIMENT)
    tests.start(EXPERIMENT)
    join()
    assert asked == [1]


@pytest.mark.parametrize(("cores", "threads"), [(1, 0), (2, 1)])
def test_on_one_core_nothing_is_started(monkeypatch, cores, threads):
    started = []
    monkeypatch.setattr(background, "available_cores", lambda: cores)
    monkeypatch.setattr(background, "compile_in_background", lambda *_: started.append(1))
    tests = BackgroundTests()
    tests.start(EXPERIMENT)
    join()
    assert len(started) == threads

"""What the tests of training share."""

import itertools

import pytest

from randpos import run as runs
from tests.experiments import shared_engine, tiny
from tests.training.runs import RATES, STEPS, content, train


@pytest.fixture
def engines(monkeypatch):
    """Compile once for all tests."""
    monkeypatch.setattr(runs, "Engine", shared_engine)


@pytest.fixture(scope="package")
def alone(tmp_path_factory) -> dict[tuple[int, float], tuple[bytes, bytes]]:
    """Every member trained by itself, without interruption."""
    out = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "Engine", shared_engine)
        for seed, rate in itertools.product([0, 1], RATES):
            first = tiny(steps=STEPS, seed=seed, learning_rate=rate)
            run = train(tmp_path_factory.mktemp("alone"), first)
            out[seed, rate] = content(run.folders[0])
    return out

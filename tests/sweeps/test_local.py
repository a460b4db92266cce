"""Workers of this machine: kept as long as they are fit, replaced when they have eaten too much."""

import pytest

from randpos.store.folder import Store
from randpos.sweeps import local
from randpos.sweeps.local import Local
from randpos.sweeps.work import Event, Job
from tests.experiments import tiny


@pytest.mark.parametrize(
    ("limit", "processes"), [pytest.param(2**60, 1, marks=pytest.mark.slow), (1, 2)]
)
def test_a_worker_is_replaced_when_it_has_grown(tmp_path, monkeypatch, limit, processes):
    monkeypatch.setattr(local, "MEMORY_LIMIT", limit)
    started = []
    monkeypatch.setattr(
        local, "Process", lambda *how, new=local.Process: started.append(new(*how)) or started[-1]
    )
    executor, events = Local(tmp_path, workers=1), []
    # Its run is ours, so that the worker has nothing to do.
    lock = Store(tmp_path).run(tiny()).lock()
    try:
        for _ in range(2):
            executor.run(Job((tiny(),)), events.append)
    finally:
        lock.release()
        executor.close()
    assert events == [Event(tiny().digest, "elsewhere")] * 2
    assert len(started) == processes
    assert not any(worker.alive for worker in started)

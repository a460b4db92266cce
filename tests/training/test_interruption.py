"""A run that is stopped at any report or write ends like one that is not."""

import itertools
import json
from collections.abc import Callable

import pytest

from randpos import run as runs
from randpos.store.folder import RunFolder
from randpos.training import loop as trainer
from randpos.training import member as trained_member
from tests.experiments import shared_engine, tiny
from tests.training.runs import STEPS, content, members, stop_at, train

pytestmark = pytest.mark.usefixtures("engines")


@pytest.mark.parametrize(
    ("steps", "save_every"), [((20,), 0.0), ((120, 220), 3600.0), ((40, 60, 140, 250), 0.0)]
)
def test_an_interrupted_run_ends_like_any_other(tmp_path, alone, steps, save_every):
    for step in steps:
        stop_at(step, tmp_path, save_every=save_every)
    assert content(train(tmp_path).folders[0]) == alone[0, 1e-2]


def test_an_interrupted_decoder_ends_like_any_other(tmp_path):
    experiment = tiny(steps=STEPS, encoding="randomized-rope", answers="autoregressive")
    undisturbed = content(train(tmp_path / "undisturbed", experiment).folders[0])
    for step in (40, 120, 220):
        stop_at(step, tmp_path, experiment=experiment, save_every=0.0)
    assert content(train(tmp_path, experiment).folders[0]) == undisturbed


def interrupt_after(monkeypatch, owner: object, name: str, calls: int, late: bool) -> None:
    """Makes the n-th call of a function end in Ctrl-C, before or after its work."""
    inner: Callable = getattr(owner, name)
    left = itertools.count(1)

    def wrapped(*args, **kwargs):
        here = next(left) == calls
        if here and not late:
            raise KeyboardInterrupt
        out = inner(*args, **kwargs)
        if here:
            raise KeyboardInterrupt
        return out

    monkeypatch.setattr(owner, name, wrapped)


WRITES = [
    *[(RunFolder, "append", n) for n in (2, 11)],
    (trainer, "take_steps", 3),
    (trainer, "record", 2),
    (trained_member, "write_atomic", 1),
    (RunFolder, "finish", 2),
    (RunFolder, "drop_checkpoints", 1),
]
TOGETHER = [write for write in WRITES if write[1] in ("record", "finish")]


@pytest.mark.parametrize(
    ("late", "strategy", "owner", "name", "calls"),
    [
        *((False, "map", *write) for write in WRITES),
        *(pytest.param(True, "map", *write, marks=pytest.mark.slow) for write in WRITES),
        *(pytest.param(False, "vmap", *write, marks=pytest.mark.slow) for write in TOGETHER),
        *((True, "vmap", *write) for write in TOGETHER),
    ],
)
def test_an_interrupt_at_any_write_loses_nothing(
    tmp_path, alone, monkeypatch, owner, name, calls, late, strategy, stacked
):
    with monkeypatch.context() as patch:
        patch.setattr(runs, "Engine", shared_engine)
        interrupt_after(patch, owner, name, calls, late)
        try:
            train(tmp_path, seeds=[0, 1], strategy=strategy)
        except KeyboardInterrupt:
            pass
        else:
            pytest.fail("so many calls are never made")
    found = members(train(tmp_path, seeds=[0, 1], strategy=strategy))
    if strategy == "map":
        assert found == {who: alone[who] for who in found}
    else:
        # A member that is left over alone is no longer stacked, and rounds otherwise.
        for who, (_, metrics) in found.items():
            mine, theirs = (
                [json.loads(line) for line in text.splitlines()]
                for text in (metrics, stacked[who][1])
            )
            assert [row["step"] for row in mine] == [row["step"] for row in theirs]
            for first, two in zip(mine, theirs, strict=True):
                assert first["loss"] == pytest.approx(two["loss"], rel=1e-2)
    assert not list(tmp_path.glob("*/checkpoints"))
    assert not list(tmp_path.rglob(".partial*"))


@pytest.fixture(scope="module")
def stacked(tmp_path_factory) -> dict[tuple[int, float], tuple[bytes, bytes]]:
    """Two members trained together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "Engine", shared_engine)
        run = train(tmp_path_factory.mktemp("stacked"), seeds=[0, 1], strategy="vmap")
    return members(run)


def test_checkpoints_are_taken_when_their_time_has_come(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(
        trainer.checkpoints.Writer, "save", lambda self, step, arrays: saved.append(step)
    )
    train(tmp_path / "often", save_every=0.0)
    assert saved == [100, 200]
    train(tmp_path / "rarely", save_every=3600.0)
    assert saved == [100, 200]


def test_a_damaged_checkpoint_costs_time_and_nothing_else(tmp_path, alone):
    stop_at(220, tmp_path, save_every=0.0)
    newest = max(tmp_path.glob("*/checkpoints/*.safetensors"))
    newest.write_bytes(newest.read_bytes()[:-1])
    with pytest.warns(UserWarning, match=f"{newest.name} is damaged"):
        run = train(tmp_path)
    assert content(run.folders[0]) == alone[0, 1e-2]


def test_with_all_checkpoints_damaged_a_run_starts_over(tmp_path, alone):
    stop_at(220, tmp_path, save_every=0.0)
    for path in tmp_path.glob("*/checkpoints/*.json"):
        path.write_text("{")
    with (
        pytest.warns(UserWarning, match="starts over"),
        pytest.warns(UserWarning, match="set aside"),
    ):
        run = train(tmp_path)
    assert content(run.folders[0]) == alone[0, 1e-2]


def test_lost_metrics_do_not_stop_a_run(tmp_path):
    stop_at(220, tmp_path, save_every=0.0)
    for path in tmp_path.glob("*/*.jsonl"):
        path.unlink()
    assert [row["step"] for row in train(tmp_path).metrics()] == [250]

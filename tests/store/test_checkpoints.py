"""Checkpoints: what is saved comes back bit by bit, and damage is noticed and named."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from randpos import UserError
from randpos.store import checkpoints
from randpos.store.checkpoints import Writer, load_arrays, load_newest, named_arrays, save

TREE = {"w": jnp.arange(6.0).reshape(2, 3), "slots": (jnp.asarray(7, jnp.int32), jnp.ones(2))}
STEPS = (100, 200, 300)


def tree(step: int) -> dict[str, Any]:
    """Arrays that tell which step they belong to."""
    return {"w": TREE["w"] + step, "slots": TREE["slots"]}


@pytest.fixture
def folder(tmp_path) -> Path:
    """Three checkpoints."""
    for step in STEPS:
        save(tmp_path, step, named_arrays(tree(step)), keep=3)
    return tmp_path


def found(folder: Path) -> int | None:
    """The step that a run would continue from, after checking that it is what was saved."""
    newest = load_newest(folder, TREE)
    if newest is None:
        return None
    assert np.array_equal(newest.arrays["w"], tree(newest.step)["w"])
    return newest.step


def test_what_is_saved_comes_back(tmp_path):
    odd = {
        "nan": jnp.array([np.nan, -0.0, 1e-45, np.inf]),
        "whole": (jnp.asarray(2**31 - 1, jnp.int32), jnp.zeros((0, 3))),
    }
    save(tmp_path, 5, named_arrays(odd), keep=2)
    step, back = load_newest(tmp_path, odd) or (None, None)
    assert step == 5
    for first, two in zip(named_arrays(odd).items(), named_arrays(back).items(), strict=True):
        assert first[0] == two[0]
        assert first[1].tobytes() == two[1].tobytes()
        assert first[1].shape == two[1].shape


def test_the_newest_is_used(folder):
    assert found(folder) == 300


def test_without_any_a_run_starts_at_the_beginning(tmp_path):
    assert found(tmp_path) is None
    assert found(tmp_path / "nowhere") is None


@pytest.mark.parametrize("keep", [1, 2])
def test_only_the_last_ones_are_kept(tmp_path, keep):
    for step in STEPS:
        save(tmp_path, step, named_arrays(tree(step)), keep)
    stems = sorted({path.stem for path in tmp_path.iterdir()})
    assert stems == [f"step-{step:09d}" for step in STEPS[-keep:]]


def data(folder: Path) -> Path:
    return folder / "step-000000300.safetensors"


def sidecar(folder: Path) -> Path:
    return folder / "step-000000300.json"


def truncate(folder: Path) -> None:
    data(folder).write_bytes(data(folder).read_bytes()[:-1])


def empty(folder: Path) -> None:
    data(folder).write_bytes(b"")


def flip_a_bit(folder: Path) -> None:
    content = bytearray(data(folder).read_bytes())
    content[-1] ^= 1
    data(folder).write_bytes(content)


def lose_the_data(folder: Path) -> None:
    data(folder).unlink()


def lose_the_sidecar(folder: Path) -> None:
    sidecar(folder).unlink()


def truncate_the_sidecar(folder: Path) -> None:
    sidecar(folder).write_bytes(sidecar(folder).read_bytes()[:-3])


def edit(folder: Path, **fields: Any) -> None:
    about = json.loads(sidecar(folder).read_bytes())
    sidecar(folder).write_text(json.dumps({**about, **fields}))


def change_the_step(folder: Path) -> None:
    edit(folder, step=301)


def change_the_checksum(folder: Path) -> None:
    edit(folder, sha256="0" * 64)


def change_the_format(folder: Path) -> None:
    edit(folder, format=99)


def make_the_sidecar_a_list(folder: Path) -> None:
    sidecar(folder).write_text("[1, 2]")


def change_a_shape(folder: Path) -> None:
    save(folder, 300, named_arrays({**TREE, "w": jnp.zeros((3, 3))}), keep=3)


def change_a_type(folder: Path) -> None:
    save(folder, 300, named_arrays({**TREE, "w": TREE["w"].astype(jnp.float16)}), keep=3)


def leave_an_array_out(folder: Path) -> None:
    save(folder, 300, named_arrays({"w": TREE["w"]}), keep=3)


DAMAGES = [
    truncate,
    empty,
    flip_a_bit,
    lose_the_data,
    lose_the_sidecar,
    truncate_the_sidecar,
    change_the_step,
    change_the_checksum,
    change_the_format,
    make_the_sidecar_a_list,
    change_a_shape,
    change_a_type,
    leave_an_array_out,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_named_and_the_checkpoint_before_used(folder, damage: Callable[[Path], None]):
    damage(folder)
    with pytest.warns(UserWarning, match=r"step-000000300\..*the one before it used") as caught:
        assert found(folder) == 200
    assert len(caught) == 1


def test_every_bit_of_a_checkpoint_is_guarded(tmp_path):
    save(tmp_path, 1, named_arrays({"x": jnp.ones(1)}), keep=2)
    path = tmp_path / "step-000000001.safetensors"
    whole = path.read_bytes()
    for place in range(len(whole)):
        broken = bytearray(whole)
        broken[place] ^= 0x10
        path.write_bytes(broken)
        with pytest.raises(UserError, match="checksum"):
            checkpoints._load(path.with_suffix(".json"), {"x": jnp.ones(1)})


def test_all_damaged_starts_over_and_says_so(folder):
    for path in folder.glob("*.safetensors"):
        path.write_bytes(b"junk")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert found(folder) is None
    texts = [str(warning.message) for warning in caught]
    assert all(f"step-{step:09d}" in text for step, text in zip(STEPS[::-1], texts, strict=False))
    assert len(texts) == 4
    assert "starts over" in texts[-1]


@pytest.mark.parametrize("next_step", [250, 300, 400])
def test_damaged_checkpoints_do_not_crowd_out_new_ones(folder, next_step):
    truncate(folder)
    with pytest.warns(UserWarning, match="damaged"):
        load_newest(folder, TREE)
    save(folder, next_step, named_arrays(tree(next_step)), keep=2)
    assert found(folder) == next_step
    stems = {path.stem for path in folder.glob("step-*")}
    assert stems == {"step-000000200", f"step-{next_step:09d}"}


def test_a_run_that_started_over_keeps_its_new_checkpoints(folder):
    for path in folder.glob("*.json"):
        path.write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found(folder) is None
    save(folder, 100, named_arrays(tree(100)), keep=2)
    assert found(folder) == 100


def test_a_writer_copies_before_it_returns(tmp_path):
    array, writer = np.zeros(3, np.float32), Writer(tmp_path)
    writer.save(1, {"x": array})
    array[:] = 1
    writer.close()
    newest = load_newest(tmp_path, {"x": jnp.zeros(3)})
    assert newest is not None
    assert not newest.arrays["x"].any()


def test_a_writer_keeps_the_last_two(tmp_path):
    writer = Writer(tmp_path)
    for step in STEPS:
        writer.save(step, tree(step))
    writer.close()
    assert {path.stem for path in tmp_path.iterdir()} == {"step-000000200", "step-000000300"}


def test_a_failed_write_is_raised_by_the_next_call(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    writer = Writer(tmp_path / "file")
    writer.save(1, TREE)
    with pytest.raises(UserError, match="cannot be used"):
        writer.save(2, TREE)
    writer.close()


def test_arrays_that_do_not_fit_are_named(tmp_path):
    save(tmp_path, 1, named_arrays(TREE), keep=2)
    like = {**TREE, "w": jnp.zeros((9, 9))}
    with pytest.raises(UserError, match=r"\['w'\] is float32\[2, 3\], not float32\[9, 9\]"):
        load_arrays(tmp_path / "step-000000001.safetensors", like)


def test_a_file_that_is_no_safetensors_is_damaged(tmp_path):
    (tmp_path / "x").write_bytes(b"hello, this is no such file")
    with pytest.raises(UserError, match="x is damaged"):
        load_arrays(tmp_path / "x", TREE)

"""Checkpoints that were cut, flipped or forged: an intact one is used or none, not a wrong one."""

import hashlib
import json
import os
import shutil
import struct
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import strategies as st

from randpos import UserError
from randpos.store.checkpoints import load_arrays, load_newest, named_arrays, save
from tests.fuzz import inputs
from tests.fuzz.inputs import NASTY, altered, check_sentence, damaged, fuzz, json_bytes, tried

STEPS = (10, 20)
LIKE = {"a": jnp.zeros((2, 3)), "b": (jnp.zeros((), jnp.int32), jnp.zeros(500))}


def arrays(step: int) -> Any:
    return jax.tree.map(lambda x: jnp.full_like(x, step), LIKE)


@pytest.fixture
def intact(tmp_path) -> Path:
    folder = tmp_path / "intact"
    for step in STEPS:
        save(folder, step, named_arrays(arrays(step)), keep=2)
    return folder


NAMES = [f"step-{step:09d}" for step in STEPS]
CONTENT = safetensors.numpy.save(named_arrays(arrays(20)))
SIDECAR = {"format": 1, "step": 20, "sha256": "0" * 64}
BEGIN = 8 + struct.unpack("<Q", CONTENT[:8])[0]
HEADER = json.loads(CONTENT[8:BEGIN])


def with_header(header: bytes, size: int | None = None) -> bytes:
    """A safetensors file of this header, which may lie about its length."""
    return struct.pack("<Q", len(header) if size is None else size) + header + CONTENT[BEGIN:]


forged = st.one_of(
    damaged(CONTENT),
    altered(HEADER).map(json_bytes).map(with_header),
    st.sampled_from(inputs.NUMBERS).map(lambda n: with_header(b"{}", n % 2**64)),
    st.sampled_from(inputs.DEEP).map(with_header),
)
"""Files that a checksum does not give away, for their sidecar was made for them."""


@fuzz(150, content=forged)
def test_a_forged_file_is_read_in_the_right_shapes_or_refused(tmp_path, content):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with tried("safetensors"):
        try:
            found = load_arrays(path, LIKE)
        except UserError as error:
            check_sentence(str(error))
            return
        shapes = [(x.shape, x.dtype) for x in jax.tree.leaves(found)]
        assert shapes == [(x.shape, x.dtype) for x in jax.tree.leaves(LIKE)]


def a_folder(path: Path) -> None:
    path.unlink()
    (path / "inner").mkdir(parents=True)


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def a_link_to_zeros(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def gone(path: Path) -> None:
    path.unlink()


ODD = [a_folder, a_pipe, a_link_to_nothing, a_link_to_zeros, gone]
names = st.sampled_from([item for item in NASTY if 0 < len(item.encode(errors="replace")) < 200])


@fuzz(
    120,
    harm=st.one_of(
        st.tuples(st.just("data"), damaged(CONTENT)),
        st.tuples(st.just("sidecar"), damaged(json_bytes(SIDECAR))),
        st.tuples(st.just("sidecar"), altered(SIDECAR).map(json_bytes)),
        st.tuples(st.just("odd"), st.sampled_from(ODD), st.sampled_from([".json", ".safetensors"])),
        st.tuples(st.just("name"), names),
        st.tuples(st.just("forged"), forged),
    ),
    newest=st.booleans(),
)
def test_the_newest_intact_checkpoint_is_used(tmp_path, intact, harm, newest):
    folder = tmp_path / "folder"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(intact, folder)
    victim = folder / NAMES[newest]
    kind, what, *more = harm
    if kind == "data":
        victim.with_suffix(".safetensors").write_bytes(what)
    elif kind == "sidecar":
        victim.with_suffix(".json").write_bytes(what)
    elif kind == "odd":
        what(victim.with_suffix(more[0]))
    elif kind == "forged":
        victim.with_suffix(".safetensors").write_bytes(what)
        about = SIDECAR | {"step": STEPS[newest], "sha256": hashlib.sha256(what).hexdigest()}
        victim.with_suffix(".json").write_bytes(json_bytes(about))
    else:
        name = what.replace("/", "_").replace("\0", "_").encode(errors="replace").decode()
        for ending in (".json", ".safetensors"):
            (folder / f"step-{name}{ending}").write_bytes(b"rubbish")
    with tried("checkpoints"), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        found = load_newest(folder, LIKE)
    if kind != "name" and not newest:
        assert found is not None
        assert found.step == 20  # the older one is not even looked at
    assert found is not None
    if kind != "forged":
        assert found.step in STEPS
        for ours, theirs in zip(
            jax.tree.leaves(found.arrays), jax.tree.leaves(arrays(found.step)), strict=True
        ):
            assert np.array_equal(ours, theirs)
    assert found.step == 20 or any(str(folder) in str(item.message) for item in said)
    # What was set aside is not met again.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = load_newest(folder, LIKE)
    assert again is not None
    assert again.step == found.step


def test_when_all_are_damaged_the_run_starts_over(intact):
    for path in intact.iterdir():
        path.write_bytes(b"")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert load_newest(intact, LIKE) is None
    newest, older, last = (str(item.message) for item in said)
    assert f"{NAMES[1]}.json is damaged" in newest
    assert f"{NAMES[0]}.json is damaged" in older
    assert "has no intact checkpoint" in last

"""Checkpoints: arrays as safetensors, with a JSON sidecar that holds their step and checksum.

The sidecar is written last: a checkpoint without one is incomplete. A damaged checkpoint is set
aside with a warning, and the one before it is used. `start_member` (`training/member.py`) resumes
from here.
"""

import hashlib
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import safetensors.numpy
from jaxtyping import PyTree

from randpos.errors import UserError
from randpos.store.files import explained, read_file, read_json, write_atomic, write_json

FORMAT = 1


class Checkpoint(NamedTuple):
    """The arrays of a run after `step` steps."""

    step: int
    arrays: PyTree


def named_arrays(tree: PyTree) -> dict[str, np.ndarray]:
    """Returns copies of the leaves of a tree, named by their paths."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    # Copies: the next chunk of steps donates the buffers.
    return {jax.tree_util.keystr(path): np.array(leaf) for path, leaf in leaves}


def load_arrays(path: Path, like: PyTree) -> PyTree:
    """Reads a safetensors file into the structure of `like`.

    Raises:
        UserError: The file is damaged, or its names, shapes or types are not those of `like`.
    """
    try:
        arrays = safetensors.numpy.load(read_file(path))
    except UserError:
        raise
    except Exception as error:  # safetensors does not document what it raises.
        raise UserError(f"{path} is damaged: {error}.") from error
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    values = []
    for key, leaf in leaves:
        name = jax.tree_util.keystr(key)
        value = arrays.get(name)
        if value is None or value.shape != leaf.shape or value.dtype != leaf.dtype:
            found = "nothing" if value is None else f"{value.dtype}{list(value.shape)}"
            wanted = f"{leaf.dtype}{list(leaf.shape)}"
            raise UserError(f"{path} does not fit the run: {name} is {found}, not {wanted}.")
        values.append(jax.numpy.asarray(value))
    return jax.tree_util.tree_unflatten(structure, values)


def save(folder: Path, step: int, arrays: dict[str, np.ndarray], keep: int) -> None:
    """Writes a checkpoint, then removes all but the newest `keep`."""
    content = safetensors.numpy.save(arrays)
    data = folder / f"{_name(step)}.safetensors"
    write_atomic(data, content)
    digest = hashlib.sha256(content).hexdigest()
    write_json(data.with_suffix(".json"), {"format": FORMAT, "step": step, "sha256": digest})
    for name in _names(folder)[keep:]:
        (folder / f"{name}.json").unlink(missing_ok=True)
        (folder / f"{name}.safetensors").unlink(missing_ok=True)


def load_newest(folder: Path, like: PyTree) -> Checkpoint | None:
    """Returns the newest intact checkpoint; warns of every damaged one.

    Damaged ones are renamed, so that they do not count among the newest that `save` keeps.
    """
    names = _names(folder)
    for name in names:
        try:
            return _load(folder / f"{name}.json", like)
        except UserError as error:
            warnings.warn(f"{error} It is set aside, and the one before it used.", stacklevel=2)
            with explained(folder):
                for path in list(folder.iterdir()):
                    if path.stem == name:
                        path.replace(path.with_name(f"damaged-{path.name}"))
    if names:
        warnings.warn(f"{folder} has no intact checkpoint: the run starts over.", stacklevel=2)
    return None


def _load(sidecar: Path, like: PyTree) -> Checkpoint:
    data = sidecar.with_suffix(".safetensors")
    if not sidecar.exists():
        raise UserError(f"{data} is incomplete: it has no {sidecar.name}.")
    about: Any = read_json(sidecar)
    if not isinstance(about, dict) or data.stem != _name(about.get("step")):
        raise UserError(f"{sidecar} is damaged: it does not name its step.")
    if about.get("format") != FORMAT:
        raise UserError(f"{sidecar} has format {about.get('format')!r}, not {FORMAT}.")
    digest = hashlib.sha256(read_file(data)).hexdigest()
    if digest != about.get("sha256"):
        raise UserError(f"{data} is damaged: its checksum is wrong.")
    return Checkpoint(about["step"], load_arrays(data, like))


def _name(step: Any) -> str | None:
    return f"step-{step:09d}" if type(step) is int else None


def _names(folder: Path) -> list[str]:
    """Lists complete and incomplete checkpoints, newest first."""
    return sorted({path.stem for path in folder.glob("step-*.*")}, reverse=True)


class Writer:
    """Saves the checkpoints of a run in a background thread, one at a time."""

    def __init__(self, folder: Path, keep: int = 2) -> None:
        self.folder, self.keep = folder, keep
        self.thread = ThreadPoolExecutor(max_workers=1)
        self.pending: Future[None] | None = None

    def save(self, step: int, arrays: PyTree) -> None:
        """Copies the arrays and returns; the file is written in the background."""
        self.wait()
        self.pending = self.thread.submit(save, self.folder, step, named_arrays(arrays), self.keep)

    def wait(self) -> None:
        """Waits for the last checkpoint; raises its error if it failed."""
        if self.pending is not None:
            pending, self.pending = self.pending, None
            pending.result()

    def close(self) -> None:
        """Waits for the last checkpoint, then ends the thread."""
        try:
            self.wait()
        finally:
            self.thread.shutdown()

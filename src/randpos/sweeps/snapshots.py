"""Snapshots: the files of a run as bytes, to send a run to another machine."""

import shutil
from pathlib import Path

from randpos.store.files import TEMPORARY, explained, write_atomic

Snapshot = dict[str, bytes]
"""The contents of the files of a run, by their names relative to its folder."""

IGNORED = {"lock"}


def read_snapshot(folder: Path) -> Snapshot:
    """Reads the files of a run, also while another process writes to it.

    Files are read in the reverse order of writing, so that the files that a file relies on are at
    least as new as the file. A checkpoint that is removed meanwhile is left out completely.
    """
    found: Snapshot = {}
    with explained(folder):
        for path in reversed(in_order(folder)):
            try:
                found[str(path.relative_to(folder))] = path.read_bytes()
            except FileNotFoundError:
                continue
    return {name: data for name, data in found.items() if not _is_half(name, found)}


def write_snapshot(snapshot: Snapshot, folder: Path) -> None:
    """Writes a snapshot, the results last, and removes checkpoints that are not part of it.

    Names that lead outside of the folder are ignored.
    """
    known = {folder / name for name in snapshot}
    for name in sorted(snapshot, key=_rank):
        path = folder / name
        with explained(path):
            if not _is_inside(path, folder):
                continue
            if not path.is_file() or path.read_bytes() != snapshot[name]:
                write_atomic(path, snapshot[name])
    checkpoints = folder / "checkpoints"
    with explained(checkpoints):
        if "result.json" in snapshot and _is_inside(checkpoints, folder):
            shutil.rmtree(checkpoints, ignore_errors=True)
        elif any(path.parent == checkpoints for path in known):
            for path in checkpoints.glob("step-*"):
                if path not in known and _is_inside(path, folder):
                    path.unlink(missing_ok=True)


def in_order(folder: Path) -> list[Path]:
    """Lists the files of a run in the order in which training writes them."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    kept = [p for p in files if p.name not in IGNORED and not p.name.startswith(TEMPORARY)]
    return sorted(kept, key=lambda path: _rank(str(path.relative_to(folder))))


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve() != folder.resolve() and path.resolve().is_relative_to(folder.resolve())


def _is_half(name: str, snapshot: Snapshot) -> bool:
    """Returns whether a file belongs to a checkpoint whose other file is missing."""
    pair = [str(Path(name).with_suffix(suffix)) for suffix in (".safetensors", ".json")]
    return name.startswith("checkpoints/step-") and not all(file in snapshot for file in pair)


def _rank(name: str) -> tuple[int, str]:
    order = ("environment.json", "config.json", "metrics.jsonl", "timing.jsonl")
    if name in order:
        return order.index(name), name
    if name.startswith("checkpoints/"):
        # The JSON file comes after the arrays: it marks the checkpoint as complete.
        return 11 if name.endswith(".json") else 10, name
    return {"model.safetensors": 20, "result.json": 21}.get(name, 30), name

"""A run's folder as bytes: how a run travels between machines that share no file system."""

from pathlib import Path

from randpos.files import TEMPORARY, write_atomic

Snapshot = dict[str, bytes]
"""The content of a run's files by their names relative to its folder."""

LEFT = {"lock"}


def take(folder: Path) -> Snapshot:
    """Reads a run's files while it may be written to.

    Files are read in the order that is the reverse of writing: whatever is read was complete when
    what it relies on was read after it. A checkpoint that is removed meanwhile is left out.
    """
    found: Snapshot = {}
    for path in reversed(in_order(folder)):
        try:
            found[str(path.relative_to(folder))] = path.read_bytes()
        except FileNotFoundError:
            continue
    return found


def put(snapshot: Snapshot, folder: Path) -> None:
    """Writes a snapshot, the results last, and removes checkpoints that it no longer has."""
    known = {folder / name for name in snapshot}
    for name in sorted(snapshot, key=_rank):
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            continue  # it would leave the run's folder
        if not path.is_file() or path.read_bytes() != snapshot[name]:
            write_atomic(path, snapshot[name])
    for path in (folder / "checkpoints").glob("step-*"):
        if path not in known:
            path.unlink(missing_ok=True)


def in_order(folder: Path) -> list[Path]:
    """Lists a run's files in the order in which a run writes them."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    kept = [p for p in files if p.name not in LEFT and not p.name.startswith(TEMPORARY)]
    return sorted(kept, key=lambda path: _rank(str(path.relative_to(folder))))


def _rank(name: str) -> tuple[int, str]:
    order = ("environment.json", "config.json", "metrics.jsonl", "timing.jsonl")
    if name in order:
        return order.index(name), name
    if name.startswith("checkpoints/"):
        # The sidecar says that the arrays are complete.
        return 11 if name.endswith(".json") else 10, name
    return {"model.safetensors": 20, "result.json": 21}.get(name, 30), name

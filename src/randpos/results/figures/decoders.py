"""Accuracy over length of decoders: the paper's tasks, and addition."""

from pathlib import Path

from matplotlib.figure import Figure

from randpos.errors import UserError
from randpos.results.decoders import DECODERS
from randpos.results.figures.curves import curves
from randpos.results.scores import score_runs
from randpos.store.tables import StoreTables

GENERATED = "Accuracy: the share of generated tokens that are right."


def decoder_of_store(records: StoreTables, store: Path) -> Figure:
    """Draws the curves of decoders on all tasks but addition."""
    return _curves(records, "decoder")


def addition_of_store(records: StoreTables, store: Path) -> Figure:
    """Draws the curves of decoders that add decimal numbers."""
    return _curves(records, "addition")


def _curves(records: StoreTables, name: str) -> Figure:
    decoders = score_runs(records).filter(DECODERS[name])["run"]
    chosen = records.with_runs(records.runs.filter(records.runs["run"].is_in(decoders.implode())))
    if chosen.runs.is_empty():
        raise UserError(
            f"No trained and tested decoder is there to draw curves of; run randpos reproduce "
            f"{name} first."
        )
    return curves(chosen, notes=[GENERATED])

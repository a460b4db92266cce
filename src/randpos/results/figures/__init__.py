"""The paper's figures, drawn with Matplotlib: `pip install "randpos[report]"`.

`FIGURES` has one function per figure, under the name of the experiment that it shows. Each takes
what a store holds and where it is, and returns a figure for `save`.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError:
    from randpos.extras import MissingExtraError

    raise MissingExtraError("randpos.results.figures", "Matplotlib", "report") from None

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from randpos.results.figures.attention import attention, attention_of_store
from randpos.results.figures.curves import curves
from randpos.results.figures.efficiency import efficiency, efficiency_of_store
from randpos.results.figures.overview import overview
from randpos.results.figures.pca import pca, pca_of_store
from randpos.results.figures.positions import max_position
from randpos.results.figures.style import save
from randpos.store.tables import StoreTables

FIGURES: dict[str, Callable[[StoreTables, Path], Figure]] = {
    "curves": lambda records, store: curves(records),
    "efficiency": lambda records, store: efficiency_of_store(records),
    "max-position": lambda records, store: max_position(records),
    "pca": pca_of_store,
    "attention": attention_of_store,
    "overview": lambda records, store: overview(),
}
"""Figures by name, from a store's records and its folder."""

__all__ = [
    "FIGURES",
    "attention",
    "attention_of_store",
    "curves",
    "efficiency",
    "efficiency_of_store",
    "max_position",
    "overview",
    "pca",
    "pca_of_store",
    "save",
]

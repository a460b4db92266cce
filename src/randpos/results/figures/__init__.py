"""The paper's figures, drawn with Matplotlib: `pip install "randpos[report]"`.

Each function returns a figure for `save`. `randpos.paper.artifacts` lists the figures by name.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError:
    from randpos.extras import MissingExtraError

    raise MissingExtraError("randpos.results.figures", "Matplotlib", "report") from None

from randpos.results.figures.attention import attention, attention_of_store
from randpos.results.figures.curves import curves
from randpos.results.figures.efficiency import efficiency, efficiency_of_store
from randpos.results.figures.overview import overview
from randpos.results.figures.pca import pca, pca_of_store
from randpos.results.figures.positions import max_position
from randpos.results.figures.style import save

__all__ = [
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

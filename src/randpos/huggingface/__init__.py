"""Randomized positions in Hugging Face `transformers` models, without a change to their code."""

try:
    import torch as _torch  # noqa: F401
    import transformers as _transformers  # noqa: F401
except ImportError:
    from randpos.extras import MissingExtraError

    raise MissingExtraError(
        "randpos.huggingface", "PyTorch and transformers", "huggingface"
    ) from None

from randpos.huggingface.callback import RandomizedPositionsCallback
from randpos.huggingface.check import Finding, check
from randpos.huggingface.collator import PositionsCollator
from randpos.huggingface.families import Family, families, register
from randpos.huggingface.hooks import RandomizedPositions
from randpos.huggingface.randomize import randomize_positions, restore_positions
from randpos.huggingface.settings import watch_loading
from randpos.huggingface.tables import resize_position_table

__all__ = [
    "Family",
    "Finding",
    "PositionsCollator",
    "RandomizedPositions",
    "RandomizedPositionsCallback",
    "check",
    "families",
    "randomize_positions",
    "register",
    "resize_position_table",
    "restore_positions",
]

watch_loading()

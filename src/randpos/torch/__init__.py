"""Randomized positions and position encodings for PyTorch models.

`import randpos` does not import this package, so JAX users need no PyTorch.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError:
    from randpos.extras import MissingExtraError

    raise MissingExtraError("randpos.torch", "PyTorch", "torch") from None

from randpos.torch.decoder import Decoder, Generated
from randpos.torch.encodings import (
    FIRE,
    KERPLE,
    T5,
    ALiBi,
    Encoding,
    Geometric,
    Learned,
    Relative,
    RoPE,
    SinCos,
    apply_rope,
)
from randpos.torch.loading import load_encoder
from randpos.torch.model import Encoder
from randpos.torch.offsets import offsets_from_distances
from randpos.torch.positions import sample_positions, sample_skipwise

__all__ = [
    "FIRE",
    "KERPLE",
    "T5",
    "ALiBi",
    "Decoder",
    "Encoder",
    "Encoding",
    "Generated",
    "Geometric",
    "Learned",
    "Relative",
    "RoPE",
    "SinCos",
    "apply_rope",
    "load_encoder",
    "offsets_from_distances",
    "sample_positions",
    "sample_skipwise",
]

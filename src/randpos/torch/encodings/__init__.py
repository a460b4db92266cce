"""The encodings of `randpos.encodings` as modules of PyTorch, numerically equal."""

from randpos.torch.encodings.additive import Learned, SinCos
from randpos.torch.encodings.alibi import ALiBi
from randpos.torch.encodings.base import Encoding, offsets_of
from randpos.torch.encodings.fire import FIRE
from randpos.torch.encodings.geometric import Geometric
from randpos.torch.encodings.kerple import KERPLE
from randpos.torch.encodings.relative import Relative
from randpos.torch.encodings.rope import RoPE, apply_rope
from randpos.torch.encodings.sinusoids import sinusoid
from randpos.torch.encodings.t5 import T5

__all__ = [
    "FIRE",
    "KERPLE",
    "T5",
    "ALiBi",
    "Encoding",
    "Geometric",
    "Learned",
    "Relative",
    "RoPE",
    "SinCos",
    "apply_rope",
    "offsets_of",
    "sinusoid",
]

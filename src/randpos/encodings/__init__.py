"""The encodings, by name. A new one is a file in this folder and a line in `ENCODINGS`."""

from randpos.encodings.alibi import ALiBi
from randpos.encodings.base import Encoding, NoEncoding
from randpos.encodings.fire import FIRE
from randpos.encodings.geometric import Geometric
from randpos.encodings.kerple import KERPLE
from randpos.encodings.learned import Learned
from randpos.encodings.relative import Relative
from randpos.encodings.rope import RoPE, apply_rope
from randpos.encodings.sincos import SinCos
from randpos.encodings.t5 import T5
from randpos.errors import UserError, unknown
from randpos.settings import Shape
from randpos.user_code import load_class

ENCODINGS: dict[str, type[Encoding]] = {
    encoding.name: encoding
    for encoding in (
        NoEncoding,
        SinCos,
        Relative,
        ALiBi,
        RoPE,
        Learned,
        Geometric,
        T5,
        KERPLE,
        FIRE,
    )
}


def load(path: str) -> type[Encoding]:
    """Returns the encoding that `path`, a `module:Class`, names."""
    encoding = load_class(path, Encoding, ("name", "description"))
    if encoding.readings[:1] != ("positions",):
        # Settings know the default reading without importing the class.
        raise UserError(f"Encoding {path!r}: its readings must begin with 'positions'.")
    return encoding


def get_encoding(name: str) -> type[Encoding]:
    """Returns the class of an encoding by name, or by a `module:Class` in a file of your own."""
    if ":" in name:
        return load(name)
    if name not in ENCODINGS:
        raise unknown("encoding", name, ENCODINGS)
    return ENCODINGS[name]


__all__ = [
    "ENCODINGS",
    "FIRE",
    "KERPLE",
    "T5",
    "ALiBi",
    "Encoding",
    "Geometric",
    "Learned",
    "NoEncoding",
    "Relative",
    "RoPE",
    "Shape",
    "SinCos",
    "apply_rope",
    "get_encoding",
]

"""Encoders that were trained with randpos and exported (`randpos.export`), in PyTorch."""

import json
from collections.abc import Callable
from os import PathLike
from typing import Any

from safetensors import safe_open

from randpos.errors import UserError, unknown
from randpos.torch.decoder import Decoder
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
)
from randpos.torch.model import Encoder

HEADER = "randpos"

ENCODINGS: dict[str, Callable[[int, int, int], Encoding]] = {
    "none": lambda dim, heads, positions: Encoding(),
    "sincos": lambda dim, heads, positions: SinCos(),
    "learned": lambda dim, heads, positions: Learned(dim, positions),
    "rope": lambda dim, heads, positions: RoPE(),
    "alibi": lambda dim, heads, positions: ALiBi(heads),
    "relative": lambda dim, heads, positions: Relative(dim, heads),
    "geometric": lambda dim, heads, positions: Geometric(dim, heads),
    "t5": lambda dim, heads, positions: T5(heads),
    "kerple": lambda dim, heads, positions: KERPLE(heads),
    "fire": lambda dim, heads, positions: FIRE(heads),
}
"""Builds the encoding of each name from width, heads and largest position."""


def load_encoder(path: str | PathLike[str]) -> Encoder:
    """Reads an encoder that `randpos.export.export_torch` (or `randpos export --to torch`) wrote.

    Args:
        path: The file.

    Returns:
        The encoder in evaluation mode; its logits are those of the JAX model. A run of a decoder
        gives a `Decoder`, which also generates.
    """
    with safe_open(path, framework="pt") as file:
        header = (file.metadata() or {}).get(HEADER)
        if header is None:
            raise UserError(f"{path} was not written by randpos export; its header names no model.")
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    model = build_encoder(json.loads(header))
    model.load_state_dict(arrays)
    return model.eval()


def build_encoder(description: dict[str, Any]) -> Encoder:
    """Builds the encoder that the header of an exported file describes.

    Args:
        description: What `randpos.export.describe` returned.
    """
    sizes, name = description["architecture"], description["encoding"]
    if name not in ENCODINGS:
        raise unknown("encoding", name, ENCODINGS)

    def make() -> Encoding:
        made = ENCODINGS[name](sizes["dim"], sizes["heads"], description["positions"])
        for option, value in description["options"].items():
            setattr(made, option, value)
        return made

    first = make()
    count = sizes["layers"] if first.parameters_per_layer else 1
    encodings = [first, *(make() for _ in range(count - 1))]
    arguments = description["vocabulary"], description["classes"], encodings
    if "decoder" in description:
        return Decoder(*arguments, **sizes, **description["decoder"])
    return Encoder(*arguments, **sizes)

"""Writes trained encoders to safetensors files that PyTorch reads; PyTorch is not needed for it.

The names and the layout of the arrays are those of `randpos.torch.Encoder.state_dict()`. The header
of the file holds the sizes that `randpos.torch.load_encoder` builds the encoder from.
"""

import dataclasses
import json
from os import PathLike
from pathlib import Path

import equinox as eqx
import numpy as np
from jaxtyping import Array
from safetensors.numpy import save

from randpos.encodings import ENCODINGS, Encoding, Geometric
from randpos.errors import UserError
from randpos.nn.block import Block
from randpos.nn.layers import LayerNorm, Linear
from randpos.nn.model import Encoder
from randpos.store.files import write_atomic
from randpos.tasks.layout import Layout

HEADER = "randpos"
"""The key of the header that holds the sizes, as JSON."""


def export_torch(model: Encoder, path: str | PathLike[str], layout: Layout | None = None) -> None:
    """Writes an encoder to a file that `randpos.torch.load_encoder` reads.

    Args:
        model: The encoder, with the parameters of one run.
        path: The file to write, usually with the ending `.safetensors`.
        layout: The layout of a decoder's sequences, `resolve(experiment).layout`; with it the
            file is read as a decoder that generates.
    """
    encoding = model.encoding
    if not (encoding.pytorch and ENCODINGS.get(encoding.name) is type(encoding)):
        raise UserError(
            f"encoding={encoding.name!r} does not exist in PyTorch; see `randpos encodings` for "
            "those that can be exported."
        )
    about = {HEADER: json.dumps(describe(model) | _decoder(layout))}
    write_atomic(Path(path), save(torch_arrays(model), metadata=about))


def describe(model: Encoder) -> dict[str, object]:
    """Returns the sizes of an encoder and the name of its encoding, ready for JSON."""
    encoding = model.encoding
    options = {"normalise": encoding.normalise} if isinstance(encoding, Geometric) else {}
    options |= {"one_sided": True} if encoding.shape.one_sided else {}
    return {
        "vocabulary": model.embedding.shape[0],
        "classes": model.head.weight.shape[1],
        "architecture": dataclasses.asdict(model.architecture),
        "encoding": encoding.name,
        "positions": encoding.shape.positions,
        "options": options,
    }


def _decoder(layout: Layout | None) -> dict[str, object]:
    """Returns the tokens that a decoder needs in order to generate; nothing for an encoder."""
    if layout is None or not layout.autoregressive:
        return {}
    return {
        "decoder": {
            "separator": layout.placeholder,
            "answer_tokens": layout.answer_tokens.tolist(),
            "thinking": layout.thinking,
            "blank": layout.blank if layout.thinking else None,
        }
    }


def torch_arrays(model: Encoder) -> dict[str, np.ndarray]:
    """Returns the parameters under the names that they have in PyTorch."""
    arrays: dict[str, np.ndarray] = {"embedding": np.asarray(model.embedding)}
    for number, block in enumerate(model.blocks):
        arrays |= _block(block, f"blocks.{number}.")
    arrays |= _linear(model.head, "head.")
    arrays |= _encoding(model.encoding)
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _block(block: Block, prefix: str) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for field in dataclasses.fields(block):
        part = getattr(block, field.name)
        if isinstance(part, Linear):
            arrays |= _linear(part, f"{prefix}{field.name}.")
        elif isinstance(part, LayerNorm):
            arrays[f"{prefix}{field.name}.weight"] = np.asarray(part.scale)
            arrays[f"{prefix}{field.name}.bias"] = np.asarray(part.offset)
    return arrays


def _linear(linear: Linear, prefix: str) -> dict[str, np.ndarray]:
    """Returns the arrays of a linear map; PyTorch stores the matrix transposed."""
    arrays = {f"{prefix}weight": np.asarray(linear.weight).T}
    if linear.bias is not None:
        arrays[f"{prefix}bias"] = np.asarray(linear.bias)
    return arrays


def _encoding(encoding: Encoding) -> dict[str, np.ndarray]:
    """Returns the arrays of an encoding; a leading axis `layer` is split into one per module."""
    arrays: dict[str, np.ndarray] = {}
    for field in dataclasses.fields(encoding):
        value = getattr(encoding, field.name)
        if not eqx.is_array(value):
            continue
        if _is_per_layer(field.type):
            arrays |= {f"encodings.{i}.{field.name}": np.asarray(x) for i, x in enumerate(value)}
        else:
            arrays[f"encodings.0.{field.name}"] = np.asarray(value)
    return arrays


def _is_per_layer(annotation: type[Array] | object) -> bool:
    return getattr(annotation, "dim_str", "").split()[:1] == ["layer"]

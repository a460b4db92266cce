"""Randomized positional encodings for length generalization of Transformers.

    config -> task batch -> positions -> encoding -> model -> loss -> training -> evaluation

An implementation of Ruoss et al. (ACL 2023). Start with `randpos.positions`, the paper's idea.
"""

from randpos.combinations import Combination, combinations, get_combination
from randpos.encodings import ENCODINGS, Encoding, Shape, apply_rope, get_encoding
from randpos.errors import UserError
from randpos.model import Architecture, Encoder, Trace
from randpos.positions import Ordinal, Positions, Randomized, Scheme, sample_positions

__version__ = "0.1.0"

__all__ = [
    "ENCODINGS",
    "Architecture",
    "Combination",
    "Encoder",
    "Encoding",
    "Ordinal",
    "Positions",
    "Randomized",
    "Scheme",
    "Shape",
    "Trace",
    "UserError",
    "apply_rope",
    "combinations",
    "get_combination",
    "get_encoding",
    "sample_positions",
]

"""Randomized positional encodings for length generalization of Transformers.

    config -> task batch -> positions -> encoding -> model -> loss -> training -> evaluation

An implementation of Ruoss et al. (ACL 2023). Start with `randpos.positions`, the paper's idea.
"""

from randpos import startup as startup  # before the libraries, which take seconds
from randpos.combinations import Combination, combinations, get_combination
from randpos.config import Evaluation, Experiment, PositionOptions, preset
from randpos.encodings import ENCODINGS, Encoding, Shape, apply_rope, get_encoding
from randpos.errors import UserError
from randpos.evaluation import Accuracy
from randpos.lengths import Schedule
from randpos.model import Architecture, Encoder, Trace
from randpos.positions import Ordinal, Positions, Randomized, Scheme, sample_positions
from randpos.runs import Run, train
from randpos.tasks import TASKS, get_task
from randpos.tasks.base import Batch, Example, Task

__version__ = "0.1.0"

__all__ = [
    "ENCODINGS",
    "TASKS",
    "Accuracy",
    "Architecture",
    "Batch",
    "Combination",
    "Encoder",
    "Encoding",
    "Evaluation",
    "Example",
    "Experiment",
    "Ordinal",
    "PositionOptions",
    "Positions",
    "Randomized",
    "Run",
    "Schedule",
    "Scheme",
    "Shape",
    "Task",
    "Trace",
    "UserError",
    "apply_rope",
    "combinations",
    "get_combination",
    "get_encoding",
    "get_task",
    "preset",
    "sample_positions",
    "train",
]

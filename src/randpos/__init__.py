"""Randomized positional encodings for length generalization of Transformers.

    experiment -> task batch -> positions -> encoding -> model -> loss -> training -> evaluation

An implementation of Ruoss et al. (ACL 2023). Start with `randpos.positions`, the paper's idea.

Public names are imported on first use (PEP 562), so that `import randpos` and the PyTorch and
Hugging Face packages do not load JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from randpos.catalog import Combination, combinations, get_combination
    from randpos.encodings import ENCODINGS, Encoding, apply_rope, get_encoding
    from randpos.errors import UserError
    from randpos.experiment import Experiment, preset
    from randpos.nn.model import Encoder, Trace
    from randpos.positions import Ordinal, Positions, Randomized, Scheme, sample_positions
    from randpos.run import Run, train
    from randpos.settings import (
        Architecture,
        Evaluation,
        Optimizer,
        PositionOptions,
        Schedule,
        Shape,
    )
    from randpos.setup import Setup, resolve
    from randpos.store.result import Accuracy
    from randpos.tasks import TASKS, get_task
    from randpos.tasks.base import Batch, Example, Task

__version__ = "0.1.0"

_MODULES = {
    "catalog": ("Combination", "combinations", "get_combination"),
    "encodings": ("ENCODINGS", "Encoding", "apply_rope", "get_encoding"),
    "errors": ("UserError",),
    "experiment": ("Experiment", "preset"),
    "nn.model": ("Encoder", "Trace"),
    "positions": ("Ordinal", "Positions", "Randomized", "Scheme", "sample_positions"),
    "setup": ("Setup", "resolve"),
    "run": ("Run", "train"),
    "settings": (
        "Architecture",
        "Evaluation",
        "Optimizer",
        "PositionOptions",
        "Schedule",
        "Shape",
    ),
    "tasks": ("TASKS", "get_task"),
    "tasks.base": ("Batch", "Example", "Task"),
    "store.result": ("Accuracy",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

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
    "Optimizer",
    "Ordinal",
    "PositionOptions",
    "Positions",
    "Randomized",
    "Run",
    "Schedule",
    "Scheme",
    "Setup",
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
    "resolve",
    "sample_positions",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'randpos' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"randpos.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

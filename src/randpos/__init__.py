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
    from randpos.encodings import ENCODINGS, Encoding, Shape, apply_rope, get_encoding
    from randpos.errors import UserError
    from randpos.experiment import Evaluation, Experiment, Optimizer, PositionOptions, preset
    from randpos.nn.model import Architecture, Encoder, Trace
    from randpos.positions import Ordinal, Positions, Randomized, Scheme, sample_positions
    from randpos.run import Run, train
    from randpos.tasks import TASKS, get_task
    from randpos.tasks.base import Batch, Example, Task
    from randpos.training.evaluation import Accuracy
    from randpos.training.lengths import Schedule

__version__ = "0.1.0"

_MODULES = {
    "catalog": ("Combination", "combinations", "get_combination"),
    "encodings": ("ENCODINGS", "Encoding", "Shape", "apply_rope", "get_encoding"),
    "errors": ("UserError",),
    "experiment": ("Evaluation", "Experiment", "Optimizer", "PositionOptions", "preset"),
    "nn.model": ("Architecture", "Encoder", "Trace"),
    "positions": ("Ordinal", "Positions", "Randomized", "Scheme", "sample_positions"),
    "run": ("Run", "train"),
    "tasks": ("TASKS", "get_task"),
    "tasks.base": ("Batch", "Example", "Task"),
    "training.evaluation": ("Accuracy",),
    "training.lengths": ("Schedule",),
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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'randpos' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"randpos.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

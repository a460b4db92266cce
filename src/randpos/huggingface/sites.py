"""Where in a model its positions are consumed, and which module begins and ends a forward pass."""

import inspect
from dataclasses import dataclass
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from randpos.errors import UserError
from randpos.huggingface.families import Family


@dataclass(frozen=True)
class Site:
    """The two modules of a model that randomized positions have to do with.

    Args:
        consumer: Turns positions into rotations or vectors.
        owner: The innermost `PreTrainedModel` around it: it sees tokens, mask and cache, whether it
            is called itself or by a model with a head.
    """

    consumer: nn.Module
    owner: nn.Module


def find_site(model: nn.Module, family: Family) -> Site:
    """Returns the site of a model, which may itself be wrapped (adapters, `torch.compile`).

    Args:
        model: The model.
        family: Its family.
    """
    named = dict(model.named_modules())
    found = [name for name in named if name.split(".")[-1] == family.consumer]
    if len(found) != 1:
        raise UserError(
            f"{type(model).__name__} has {len(found)} submodules called {family.consumer!r}; "
            f"the family {family.name!r} expects one. Register the family with the right name: "
            "randpos.huggingface.register(Family(...))."
        )
    parts = found[0].split(".")
    above = [named[".".join(parts[:depth])] for depth in range(len(parts))]
    owners = [module for module in above if isinstance(module, PreTrainedModel)]
    if not owners:
        raise UserError(f"{type(model).__name__} contains no transformers model.")
    return Site(named[found[0]], owners[-1])


def arguments(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a call of the module by name."""
    bound = inspect.signature(module.forward).bind_partial(*args, **kwargs)
    named = dict(bound.arguments)
    named.update(named.pop("kwargs", {}))
    return named

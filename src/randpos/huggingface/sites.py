"""Finds where in a model its positions are consumed, and which module begins a forward pass."""

import inspect
from dataclasses import dataclass
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from randpos.errors import UserError
from randpos.huggingface.families import Family


@dataclass(frozen=True)
class Site:
    """The two modules of a model that are hooked.

    Args:
        consumer: Turns positions into rotations or vectors; an adapter may be wrapped around it.
        owner: The innermost `PreTrainedModel` around it: it sees tokens, mask and cache, whether it
            is called itself or by a model with a head.
    """

    consumer: nn.Module
    owner: nn.Module

    @property
    def inner(self) -> nn.Module:
        """The consumer without the adapters of PEFT around it."""
        module = self.consumer
        for name in ("original_module", "base_layer"):
            module = dict(module.named_children()).get(name, module)
        return module


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


def place_of(argument: str, module: nn.Module, args: tuple[Any, ...]) -> int | None:
    """Returns where among the positional arguments of a call one stands; None if it is not there.

    Args:
        argument: Its name.
        module: The module without adapters: those take `*args`.
        args: The positional arguments.
    """
    names = list(inspect.signature(module.forward).parameters)
    if argument not in names:
        return None
    place = names.index(argument)
    return place if place < len(args) else None

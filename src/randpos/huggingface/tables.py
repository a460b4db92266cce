"""Checks that position tables are long enough, and makes learned ones longer."""

import torch
from torch import nn

from randpos.errors import UserError
from randpos.huggingface.families import Family, family_of
from randpos.huggingface.sites import find_site

_LIKE_TABLE = ("position_ids", "token_type_ids")


def check_table(family: Family, consumer: nn.Module, maximum: int) -> None:
    """Raises if a table has fewer rows than there are positions to draw from.

    Args:
        family: The family of the model.
        consumer: Its submodule that holds the table, if it has one, without adapters.
        maximum: L.
    """
    capacity = family.capacity(consumer)
    if capacity is not None and capacity < maximum:
        learned = isinstance(consumer, nn.Embedding)
        grow = (
            f"grow the table first: randpos.huggingface.resize_position_table(model, {maximum})"
            if learned
            else f"load the model with max_position_embeddings={maximum}"
        )
        raise UserError(
            f"maximum={maximum} is more than the {capacity} {'learned ' if learned else ''}"
            f"positions of this {family.name} model; pass maximum={capacity}, or {grow}."
        )


def resize_position_table(model: nn.Module, maximum: int) -> None:
    """Grows the learned position table of a model to `maximum` positions, in place.

    Old rows keep their values. New rows are drawn from a normal distribution with the mean and
    standard deviation of the old ones, from PyTorch's global generator; they mean nothing before
    training. Create the optimizer afterwards: the table is a new parameter.

    Args:
        model: A `transformers` model with a learned table (GPT-2, BERT, OPT, …).
        maximum: Number of positions that the table shall hold, at least as many as it holds.
    """
    family = family_of(model)
    site = find_site(model, family)
    capacity = family.capacity(site.inner)
    if site.inner is not site.consumer:
        raise UserError(
            f"An adapter is wrapped around the position table of this {family.name} model; resize "
            "the table before the adapter is added."
        )
    if capacity is None or not isinstance(site.consumer, nn.Embedding):
        raise UserError(f"A {family.name} model has no learned position table to resize.")
    if maximum < capacity:
        raise UserError(f"maximum={maximum} would cut the table, which holds {capacity} positions.")
    _check_buffers(site.owner, site.consumer.num_embeddings - family.extra_rows)
    old = site.consumer.weight.detach()
    added = maximum - capacity
    counted = old[-capacity:].float()
    fresh = torch.randn(added, old.shape[1], device=old.device) * counted.std() + counted.mean()
    requires_grad = site.consumer.weight.requires_grad
    weight = nn.Parameter(torch.cat([old, fresh.to(old.dtype)]), requires_grad=requires_grad)
    # The module is kept (it may be of a class of its own); only its parameter is replaced.
    site.consumer.weight = weight
    site.consumer.num_embeddings = len(weight)
    _resize_buffers(site.owner, len(old) - family.extra_rows, len(weight) - family.extra_rows)
    for config in {
        id(m.config): m.config for m in model.modules() if hasattr(m, "config")
    }.values():
        if hasattr(config, "max_position_embeddings"):
            config.max_position_embeddings = len(weight) - family.extra_rows  # type: ignore[union-attr]


def _check_buffers(owner: nn.Module, old: int) -> None:
    """Raises if buffers other than BERT's depend on the length: GPT-Neo keeps whole masks."""
    for name, buffer in owner.named_buffers():
        if old in buffer.shape and name.split(".")[-1] not in _LIKE_TABLE:
            raise UserError(
                f"This model also sizes {name} by its positions; build it anew with a larger "
                "config.max_position_embeddings and copy the weights."
            )


def _resize_buffers(owner: nn.Module, old: int, new: int) -> None:
    """Renews the buffers of BERT-type embeddings that are as long as the table."""
    for module in owner.modules():
        for name, buffer in list(module.named_buffers(recurse=False)):
            if name in _LIKE_TABLE and buffer.shape[-1] == old:
                row = torch.arange(new) if name == "position_ids" else torch.zeros(new).long()
                setattr(module, name, row.to(buffer)[None])

"""The entry point: gives a `transformers` model randomized positions."""

from typing import get_args

import torch
from torch import nn

from randpos.errors import UserError, unknown
from randpos.huggingface.draws import Law, Per
from randpos.huggingface.families import family_of
from randpos.huggingface.hooks import RandomizedPositions, change_of
from randpos.huggingface.policy import Policy
from randpos.huggingface.rope import check_rope
from randpos.huggingface.settings import saved_law
from randpos.huggingface.sites import find_site
from randpos.huggingface.tables import check_table
from randpos.numpy import check_chunks


def randomize_positions(
    model: nn.Module,
    *,
    maximum: int | None = None,
    per: Per | None = None,
    seed: int | None = None,
    chunks: int | None = None,
    reserve: int = 0,
) -> RandomizedPositions:
    """Gives a `transformers` model randomized positions, from now on or for a `with` block.

    Token j of a sequence stands at position i_j, where i_0 < i_1 < … is a uniformly random subset
    of {0..maximum−1} (the paper's {1..L}, counted from 0). Every forward pass draws anew, in
    training and in evaluation; one call of `generate` is one draw. The settings become part of the
    model's configuration, so `save_pretrained` keeps them. See docs/own-model.md.

    Args:
        model: A model of one of the `families()`, with or without a head, also wrapped.
        maximum: L, the number of positions to draw from. Use one value everywhere. Without it,
            maximum, per and chunks are those that the model was saved with; else it is 2048.
        per: One draw for the whole `batch` (the paper, and the default), or one for every
            `sequence` in it.
        seed: Seed of the draws. By default one is taken from PyTorch's global generator.
        chunks: Draw skip-wise positions (PoSE) in so many contiguous chunks instead.
        reserve: Positions to keep free in every draw for tokens that you decode without `generate`.

    Returns:
        The change: a context manager with a method `remove()`.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> config = LlamaConfig(vocab_size=9, hidden_size=8, intermediate_size=8,
        ...                      num_hidden_layers=1, num_attention_heads=2)
        >>> model = LlamaForCausalLM(config).eval()
        >>> ids = torch.tensor([[1, 2, 3, 4]])
        >>> plain = model(ids).logits
        >>> with randomize_positions(model, maximum=512, seed=0):
        ...     bool((model(ids).logits == plain).all())
        False
        >>> bool((model(ids).logits == plain).all())
        True
    """
    family = family_of(model)
    law = _law(model, maximum, per, chunks)
    if reserve < 0:
        raise UserError(f"reserve={reserve} is negative; pass how many tokens may follow.")
    if seed is not None and seed < 0:
        raise UserError(f"seed={seed} is negative; pass 0 or more.")
    site = find_site(model, family)
    if hasattr(site.owner, "_randpos"):
        raise UserError(
            "This model has randomized positions already; call remove() on what "
            "randomize_positions returned (or restore_positions(model)) first."
        )
    check_rope(site.owner.config)
    check_table(family, site.inner, law.maximum)
    if seed is None:
        seed = int(torch.randint(2**62, ()))
    return RandomizedPositions(model, site, family, Policy(law, seed, reserve))


def _law(model: nn.Module, maximum: int | None, per: Per | None, chunks: int | None) -> Law:
    """Returns the distribution that the arguments, or else the model's configuration, ask for."""
    saved = saved_law(model) if maximum is None else None
    if saved is not None:
        if (per is not None and per != saved.per) or (chunks not in (None, saved.chunks)):
            raise UserError(
                f"This model was saved with {saved}, but per={per!r} or chunks={chunks} differ; "
                "pass maximum as well to replace the saved settings."
            )
        return saved
    law = Law(2048 if maximum is None else maximum, "batch" if per is None else per, chunks)
    if law.per not in get_args(Per):
        raise unknown("value of per", law.per, get_args(Per))
    if law.maximum < 1:
        raise UserError(f"maximum={law.maximum} must be at least 1.")
    if chunks is not None:
        check_chunks(chunks)
    return law


def restore_positions(model: nn.Module) -> None:
    """Undoes what `randomize_positions` did to a model, or to the model that it was copied from.

    Args:
        model: The model.
    """
    change = change_of(model)
    if change is None:
        raise UserError(f"{type(model).__name__} has ordinary positions; nothing to restore.")
    change.remove()

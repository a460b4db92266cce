"""The entry point: give a `transformers` model randomized positions."""

from typing import get_args

import torch
from torch import nn

from randpos.errors import UserError, unknown
from randpos.huggingface.draws import Law, Per
from randpos.huggingface.families import family_of
from randpos.huggingface.hooks import RandomizedPositions
from randpos.huggingface.policy import Policy
from randpos.huggingface.rope import check_rope
from randpos.huggingface.sites import find_site
from randpos.huggingface.tables import check_table
from randpos.numpy import check_chunks


def randomize_positions(
    model: nn.Module,
    *,
    maximum: int = 2048,
    per: Per = "batch",
    seed: int | None = None,
    chunks: int | None = None,
    reserve: int = 0,
) -> RandomizedPositions:
    """Gives a `transformers` model randomized positions, from now on or for a `with` block.

    Token j of a sequence stands at position i_j, where i_0 < i_1 < … is a uniformly random subset
    of {0..maximum−1} (the paper's {1..L}, counted from 0). Every forward pass draws anew, in
    training and in evaluation; one call of `generate` is one draw. See docs/own-model.md.

    Args:
        model: A model of one of the `families()`, with or without a head, also wrapped.
        maximum: L, the number of positions to draw from. Use one value everywhere.
        per: One draw for the whole `batch` (the paper), or one for every `sequence` in it.
        seed: Seed of the draws. By default one is taken from PyTorch's global generator.
        chunks: Draw skip-wise positions (PoSE) in so many contiguous chunks instead.
        reserve: Positions to keep free in every draw for tokens that you decode by hand after it.

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
    if per not in get_args(Per):
        raise unknown("value of per", per, get_args(Per))
    if maximum < 1 or reserve < 0:
        raise UserError(f"maximum={maximum} must be at least 1 and reserve={reserve} at least 0.")
    if chunks is not None:
        check_chunks(chunks)
    site = find_site(model, family)
    if hasattr(site.owner, "_randpos"):
        raise UserError(
            "This model has randomized positions already; call remove() on what "
            "randomize_positions returned (or restore_positions(model)) first."
        )
    check_rope(site.owner.config)
    check_table(family, site.consumer, maximum)
    if seed is None:
        seed = int(torch.randint(2**62, ()))
    policy = Policy(Law(maximum, per, chunks), seed, reserve)
    return RandomizedPositions(model, site, family, policy)


def restore_positions(model: nn.Module) -> None:
    """Takes back what `randomize_positions` did to a model, also to a copy of such a model.

    Args:
        model: The model.
    """
    change = getattr(find_site(model, family_of(model)).owner, "_randpos", None)
    if not isinstance(change, RandomizedPositions):
        raise UserError(f"{type(model).__name__} has ordinary positions; nothing to restore.")
    change.remove()

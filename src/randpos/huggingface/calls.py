"""One forward pass of a hooked model: what it was given, and whether it can be hooked at all."""

import sys
import threading
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor

from randpos.errors import UserError
from randpos.huggingface.caches import cached_tokens
from randpos.huggingface.draws import Draw


@dataclass
class Call:
    """A forward pass of the owner, between its two hooks.

    Args:
        draw: The draw that it uses.
        rows: Number of sequences.
        cache: The cache that it continues or fills, if the caller passed one.
        real: Which tokens are not padding, if a mask says so.
        before: Number of real tokens of each row in the cache.
        packed: Whether a row may hold several sequences.
        thread: The thread that it runs in.
        consumed: Whether the consumer has been called.
    """

    draw: Draw
    rows: int
    cache: Any
    real: np.ndarray | None
    before: np.ndarray | int
    packed: bool
    thread: int
    consumed: bool = False


def read_call(given: dict[str, Any], tokens: Tensor, draw: Draw, packed: bool) -> Call:
    """Reads a forward pass from the arguments of the owner.

    Args:
        given: Its arguments by name.
        tokens: Its token ids or embeddings.
        draw: The draw that it uses.
        packed: Whether a row may hold several sequences.
    """
    embedded = given.get("input_ids") is None
    shape = tokens.shape[:-1] if embedded else tokens.shape  # GPT-2 with choices has three axes
    time, rows = shape[-1], int(np.prod(shape[:-1]))
    cache, mask = given.get("past_key_values"), given.get("attention_mask")
    call = Call(draw, rows, cache, None, 0, packed, threading.get_ident())
    # A mask of another form does not say which tokens are padding.
    if not isinstance(mask, Tensor) or mask.ndim != len(shape):
        return call
    kept = mask.reshape(rows, -1).cpu().numpy() > 0
    start = cached_tokens(cache)
    if kept.shape[1] < start + time:
        raise UserError(
            f"attention_mask has {kept.shape[1]} columns, but {start} tokens are cached and {time} "
            f"follow; pass a mask of {start + time} columns."
        )
    # The mask of a static cache may be longer than the tokens.
    call.real, call.before = kept[:, start : start + time], kept[:, :start].sum(1)
    return call


def refuse_tracing(tokens: Tensor) -> None:
    """Raises if the forward pass is being recorded: one draw would become part of the program."""
    functorch: Any = torch._C._functorch  # type: ignore[attr-defined]
    interpreter = functorch.peek_interpreter_stack()
    if torch.jit.is_tracing():  # type: ignore[attr-defined]
        what = "torch.jit.trace"
    elif torch.compiler.is_exporting() or isinstance(tokens, FakeTensor):
        what = "torch.export"
    elif interpreter is not None and interpreter.key() == functorch.TransformType.Vmap:
        what = "torch.vmap"
    else:
        return
    raise UserError(
        f"{what} would record one draw of positions for good; call remove() on the randomized "
        "positions first, and give the recorded model position_ids and a full attention_mask."
    )


def is_running(module: nn.Module, thread: int) -> bool:
    """Returns whether a thread is inside a call of the module, apart from one that begins now."""
    frame: FrameType | None = sys._current_frames().get(thread)
    calls = 0
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_call_impl" and frame.f_locals.get("self") is module:
            calls += 1
        frame = frame.f_back
    return calls > (thread == threading.get_ident())

"""Randomized positions inside a `transformers` model, by two hooks and a wrapped `generate`.

The hook before the *owner* (`LlamaModel`, `GPT2Model`, …) decides which draw a forward pass belongs
to; the hook before the *consumer* (`rotary_emb`, `wpe`, …) replaces the ids. The policy:

- A forward pass without a filled cache: a new draw, in training and in evaluation alike.
- `generate()`: one draw for the whole call, covering the prompt and all new tokens.
- A forward pass with a filled cache: the draw that filled it.
- A forward pass run again during backward (gradient checkpointing): the draw of the first run.
"""

import functools
from collections import deque
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from randpos.errors import UserError
from randpos.huggingface.draws import Draw, Law
from randpos.huggingface.families import Family
from randpos.huggingface.generation import filled, new_tokens, prompt_of, refuse_padding_right
from randpos.huggingface.sites import Site, arguments

_outside_of_graphs = torch.compiler.disable(
    reason="randpos draws positions between the graphs; compile without fullgraph=True"
)


@dataclass
class _Call:
    """One forward pass of the owner, between its two hooks."""

    draw: Draw
    real: Tensor | None
    rows: int
    packed: bool
    consumed: bool = False


@dataclass(eq=False)
class RandomizedPositions:
    """What `randomize_positions` did to a model; `remove()`, or leaving `with`, undoes it.

    Args:
        model: The model as the user passed it.
        site: Where its positions are consumed.
        family: How it counts them.
        law: The law of its draws.
        seed: Seed of the draws; draw number i depends on the seed and i alone.
        reserve: Positions kept for tokens decoded by hand after a forward pass.
    """

    model: nn.Module
    site: Site
    family: Family
    law: Law
    seed: int
    reserve: int = 0
    draws: int = 0
    _call: _Call | None = None
    _generating: Draw | None = None
    _of_cache: WeakKeyDictionary = field(default_factory=WeakKeyDictionary)
    _recent: deque = field(default_factory=lambda: deque(maxlen=64))
    _handles: list = field(default_factory=list)

    def __post_init__(self) -> None:
        owner, consumer = self.site.owner, self.site.consumer
        self._handles = [
            owner.register_forward_pre_hook(self._begin, with_kwargs=True),
            owner.register_forward_hook(self._end, always_call=True),
            consumer.register_forward_pre_hook(self._replace, with_kwargs=True),
        ]
        owner._randpos = self  # type: ignore[assignment]
        for module in self._generators():
            module.generate = functools.partial(self._generate, module.generate)
            module.generate_batch = self._refuse_batching
        _forget_compiled()

    def remove(self) -> None:
        """Takes the change back; the model then computes what it computed before, bit for bit."""
        if not self._handles:
            return
        for handle in self._handles:
            handle.remove()
        self._handles = []
        del self.site.owner._randpos
        for module in self._generators():
            # The wrappers hide the methods of the class as attributes of the instance.
            del module.generate, module.generate_batch
        _forget_compiled()

    def __enter__(self) -> "RandomizedPositions":
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def _generators(self) -> list[Any]:
        return [m for m in self.model.modules() if callable(getattr(type(m), "generate", None))]

    def _draw(self, reserve: int, sequences: int | None = None, columns: int | None = None) -> Draw:
        self.draws += 1
        return Draw(self.law, (self.seed, self.draws - 1), reserve, sequences, columns)

    @_outside_of_graphs
    def _begin(self, owner: nn.Module, args: tuple, kwargs: dict) -> None:
        if self._call is not None:
            raise RuntimeError(
                "Two forward passes of one randomized model overlap (threads or nn.DataParallel); "
                "use one process per device instead."
            )
        given = arguments(owner, args, kwargs)
        tokens = (
            given["input_ids"] if given.get("input_ids") is not None else given["inputs_embeds"]
        )
        cache, mask = given.get("past_key_values"), given.get("attention_mask")
        # A mask of another form does not tell which tokens are padding.
        if not isinstance(mask, Tensor) or mask.ndim != 2:
            mask = None
        real = None if mask is None else mask[:, -tokens.shape[1] :]
        continues = self._generating is not None or filled(cache)
        self._call = _Call(self._draw_for(tokens, cache), real, tokens.shape[0], not continues)

    def _draw_for(self, tokens: Tensor, cache: Any) -> Draw:
        if self._generating is not None:
            return self._generating
        if filled(cache):
            return self._continue(cache)
        key = (tokens.data_ptr(), tokens.shape)
        if torch._C._current_graph_task_id() != -1:  # autograd runs: this is a recomputation
            for known, draw in reversed(self._recent):
                if known == key:
                    return draw
            raise RuntimeError(
                "A checkpointed forward pass is run again, but its draw is no longer known; "
                "use model.gradient_checkpointing_enable(), which does not draw again."
            )
        draw = self._draw(self.reserve)
        if torch.is_grad_enabled() or self.model.training:
            self._recent.append((key, draw))
        return draw

    def _continue(self, cache: Any) -> Draw:
        if cache not in self._of_cache:
            raise UserError(
                "This cache was not filled under the present randomize_positions, so the positions "
                "of its keys are unknown; start from an empty cache."
            )
        return self._of_cache[cache]

    @_outside_of_graphs
    def _replace(self, consumer: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        call = self._call
        if call is None:
            raise RuntimeError(
                f"{self.family.consumer} was called outside of a forward pass of its model."
            )
        given = arguments(consumer, args, kwargs)
        ordinary = given[self.family.argument]
        first = self.family.first(consumer)
        given[self.family.argument] = first + self._ids(call, ordinary - first)
        call.consumed = True
        return (), given

    def _ids(self, call: _Call, ordinary: Tensor) -> Tensor:
        if ordinary.ndim == 1:
            ordinary = ordinary[None]
        if ordinary.ndim != 2:
            raise UserError(f"Positions of shape {tuple(ordinary.shape)} are not [batch, time].")
        shared = self.law.per == "batch" and call.real is None
        rows = ordinary.shape[0] if shared else call.rows
        counted = np.broadcast_to(ordinary.cpu().numpy(), (rows, ordinary.shape[1]))
        real = np.ones_like(counted, dtype=bool)
        if call.real is not None:
            real = call.real.cpu().numpy().astype(bool)
        drawn = call.draw.ids(counted, real, call.packed)
        return torch.from_numpy(drawn).to(ordinary)

    @_outside_of_graphs
    def _end(self, owner: nn.Module, args: tuple, output: Any) -> None:
        call, self._call = self._call, None
        if output is None or call is None:  # an exception is on its way
            return
        if not call.consumed:
            raise RuntimeError(
                f"{type(owner).__name__} never called {self.family.consumer!r}, so its positions "
                f"were not randomized; the family {self.family.name!r} does not fit this model."
            )
        cache = getattr(output, "past_key_values", None)
        if filled(cache):
            self._of_cache[cache] = call.draw

    def _generate(self, generate: Any, *args: Any, **kwargs: Any) -> Any:
        prompt, cache = prompt_of(args, kwargs), kwargs.get("past_key_values")
        refuse_padding_right(kwargs.get("attention_mask"))
        if kwargs.get("cache_implementation") == "paged":
            self._refuse_batching()
        sequences, columns = prompt.shape[:2] if prompt is not None else (1, 1)
        reserve = max(self.reserve, new_tokens(generate.__self__, kwargs, columns))
        if self._generating is not None:  # some decoding methods call generate() again
            return generate(*args, **kwargs)
        self._generating = (
            self._continue(cache) if filled(cache) else self._draw(reserve, sequences, columns)
        )
        try:
            return generate(*args, **kwargs)
        finally:
            self._generating = None

    def _refuse_batching(self, *args: Any, **kwargs: Any) -> None:
        raise UserError(
            "Continuous batching mixes requests that would each need a draw of their own; "
            "call generate() with randomized positions instead."
        )


def _forget_compiled() -> None:
    """Drops compiled code: it was traced with the hooks of that time and would not see a change."""
    torch.compiler.reset()

"""Randomized positions inside a `transformers` model, by two hooks and a wrapped `generate`.

The hook before the *owner* (`LlamaModel`, `GPT2Model`, …) asks the policy which draw a forward pass
belongs to; the hook before the *consumer* (`rotary_emb`, `wpe`, …) replaces the ids.
"""

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from randpos.errors import UserError
from randpos.huggingface.draws import Draw
from randpos.huggingface.families import Family
from randpos.huggingface.generation import filled, new_tokens, prompt_of, refuse_padding_right
from randpos.huggingface.policy import Policy
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
        policy: Which draw a forward pass gets.
    """

    model: nn.Module
    site: Site
    family: Family
    policy: Policy
    _call: _Call | None = None
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

    @property
    def draws(self) -> int:
        """How many draws there have been."""
        return self.policy.draws

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

    @_outside_of_graphs
    def _begin(self, owner: nn.Module, args: tuple, kwargs: dict) -> None:
        if self._call is not None:
            raise RuntimeError(
                "Two forward passes of one randomized model overlap (threads or nn.DataParallel); "
                "use one process per device instead."
            )
        given = arguments(owner, args, kwargs)
        ids = given.get("input_ids")
        tokens = given["inputs_embeds"] if ids is None else ids
        cache, mask = given.get("past_key_values"), given.get("attention_mask")
        # A mask of another form does not tell which tokens are padding.
        flat = mask if isinstance(mask, Tensor) and mask.ndim == 2 else None
        real = None if flat is None else flat[:, -tokens.shape[1] :]
        continues = self.policy.generating is not None or filled(cache)
        draw = self.policy.draw_for(tokens, cache)
        self._call = _Call(draw, real, tokens.shape[0], packed=not continues)

    @_outside_of_graphs
    def _replace(self, consumer: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        if self._call is None:
            raise RuntimeError(
                f"{self.family.consumer} was called outside of a forward pass of its model."
            )
        given = arguments(consumer, args, kwargs)
        first = self.family.first(consumer)
        ordinary = given[self.family.argument] - first
        given[self.family.argument] = first + self._ids(self._call, ordinary)
        self._call.consumed = True
        return (), given

    def _ids(self, call: _Call, ordinary: Tensor) -> Tensor:
        if ordinary.ndim == 1:
            ordinary = ordinary[None]
        if ordinary.ndim != 2:
            raise UserError(f"Positions of shape {tuple(ordinary.shape)} are not [batch, time].")
        # Where all rows get the same ids, one row is enough, as in the model itself.
        shared = self.policy.law.per == "batch" and call.real is None
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
        self.policy.remember(getattr(output, "past_key_values", None), call.draw)

    def _generate(self, generate: Any, *args: Any, **kwargs: Any) -> Any:
        refuse_padding_right(kwargs.get("attention_mask"))
        if kwargs.get("cache_implementation") == "paged":
            self._refuse_batching()
        prompt = prompt_of(args, kwargs)
        new = new_tokens(generate.__self__, kwargs, 1 if prompt is None else prompt.shape[1])
        with self.policy.generation(prompt, kwargs.get("past_key_values"), new):
            return generate(*args, **kwargs)

    def _refuse_batching(self, *args: Any, **kwargs: Any) -> None:
        raise UserError(
            "Continuous batching mixes requests that would each need a draw of their own; "
            "call generate() with randomized positions instead."
        )


def _forget_compiled() -> None:
    """Drops compiled code: it was traced with the hooks of that time and would not see a change."""
    torch.compiler.reset()

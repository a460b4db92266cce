"""Randomizes positions inside a `transformers` model, by two hooks and a wrapped `generate`.

The hook before the *owner* (`LlamaModel`, `GPT2Model`, …) asks the policy which draw a forward pass
uses; the hook before the *consumer* (`rotary_emb`, `wpe`, …) replaces the ids.
"""

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from randpos.errors import UserError
from randpos.huggingface.caches import cached_tokens
from randpos.huggingface.calls import Call, is_running, read_call, refuse_tracing
from randpos.huggingface.compiled import mark, outside_of_graphs, unmark
from randpos.huggingface.draws import Tokens
from randpos.huggingface.families import Family
from randpos.huggingface.generation import (
    generate_arguments,
    new_tokens,
    prompt_shape,
    refuse_padding_right,
    setting,
    virtual_tokens,
)
from randpos.huggingface.policy import Policy
from randpos.huggingface.settings import restore_settings, write_settings
from randpos.huggingface.sites import Site, arguments, place_of


@dataclass(eq=False)
class RandomizedPositions:
    """What `randomize_positions` did to a model; `remove()`, or leaving `with`, undoes it.

    Args:
        model: The model as the user passed it.
        site: Where its positions are consumed.
        family: How it counts them.
        policy: Which draw a forward pass uses.
    """

    model: nn.Module
    site: Site
    family: Family
    policy: Policy
    _call: Call | None = None
    _handles: list = field(default_factory=list)
    _settings: Any = None

    def __post_init__(self) -> None:
        owner, consumer = self.site.owner, self.site.consumer
        self._handles = [
            owner.register_forward_pre_hook(self._begin, with_kwargs=True),
            owner.register_forward_hook(self._end, always_call=True),
            consumer.register_forward_pre_hook(self._replace, with_kwargs=True),
        ]
        owner._randpos = self  # type: ignore[assignment]
        self._settings = write_settings(self.model, self.policy.law)
        for module in self._generators():
            module.generate = functools.partial(self._generate, module.generate)
            module.generate_batch = self._refuse_batching
        mark(owner)
        mark(consumer)

    @property
    def draws(self) -> int:
        """How many draws there have been, in training and evaluation."""
        return self.policy.training + self.policy.evaluation

    @contextlib.contextmanager
    def hold(self, *others: "RandomizedPositions") -> Iterator[None]:
        """Uses one draw for all forward passes inside the `with` block.

        Equal inputs then get equal positions, so scoring twice gives the same numbers, and a policy
        and its reference (DPO, GRPO) are compared at the same positions.

        Args:
            others: Further randomized models that shall use the same draw.
        """
        for other in others:
            if other.policy.law != self.policy.law:
                raise UserError(
                    f"hold() shares a draw between models, but {other.policy.law} is not "
                    f"{self.policy.law}; randomize both with the same arguments."
                )
        entropy = self.policy.entropy(self.site.owner.training)
        with contextlib.ExitStack() as stack:
            for change in (self, *others):
                stack.enter_context(change.policy.hold(entropy))
            yield

    def state_dict(self) -> dict[str, Any]:
        """Returns what a later process needs to draw on: plain JSON."""
        policy = self.policy
        counts = {"training": policy.training, "evaluation": policy.evaluation}
        return {"seed": policy.seed, **counts, **vars(policy.law)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues the draws of another process.

        Args:
            state: What `state_dict` returned there.
        """
        for name, value in vars(self.policy.law).items():
            if state[name] != value:
                raise UserError(
                    f"The saved draws have {name}={state[name]!r}, but this model was randomized "
                    f"with {name}={value!r}; pass the saved value to randomize_positions."
                )
        for name in ("seed", "training", "evaluation"):
            setattr(self.policy, name, state[name])

    def remove(self) -> None:
        """Undoes the change; the model then computes what it computed before, bit for bit."""
        if not self._handles:
            return
        for handle in self._handles:
            handle.remove()
        self._handles = []
        del self.site.owner._randpos
        restore_settings(self._settings)
        for module in self._generators():
            # The wrappers hide the methods of the class as attributes of the instance.
            del module.generate, module.generate_batch
        unmark(self.site.owner)
        unmark(self.site.consumer)
        self.policy.close()

    def __enter__(self) -> "RandomizedPositions":
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def _generators(self) -> list[Any]:
        return [m for m in self.model.modules() if callable(getattr(type(m), "generate", None))]

    @outside_of_graphs
    def _begin(self, owner: nn.Module, args: tuple, kwargs: dict) -> None:
        # An interrupt skips `_end`; the call that it left behind is no longer running.
        if self._call is not None and is_running(owner, self._call.thread):
            raise RuntimeError(
                "Two forward passes of one randomized model overlap (threads or nn.DataParallel); "
                "use one process per device instead."
            )
        self._call = None
        given = arguments(owner, args, kwargs)
        ids = given.get("input_ids")
        tokens = given["inputs_embeds"] if ids is None else ids
        refuse_tracing(tokens)
        cache = given.get("past_key_values")
        draw = self.policy.draw_for(tokens, cache, owner.training)
        packed = self.policy.generating is None and not cached_tokens(cache)
        self._call = read_call(given, tokens, draw, packed)

    @outside_of_graphs
    def _replace(self, consumer: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        if self._call is None:
            raise RuntimeError(
                f"{self.family.consumer} was called outside of a forward pass of its model."
            )
        name, inner = self.family.argument, self.site.inner
        first = self.family.first(inner)
        if name in kwargs:
            ordinary = kwargs[name]
            kwargs = {**kwargs, name: first + self._ids(self._call, ordinary - first)}
        else:
            place = place_of(name, inner, args)
            if place is None:
                raise UserError(
                    f"{self.family.consumer} of this model was called without {name!r}; register "
                    f"the family {self.family.name!r} with the right argument=."
                )
            drawn = first + self._ids(self._call, args[place] - first)
            args = (*args[:place], drawn, *args[place + 1 :])
        self._call.consumed = True
        return args, kwargs

    def _ids(self, call: Call, ordinary: Tensor) -> Tensor:
        if ordinary.ndim == 1:
            ordinary = ordinary[None]
        if ordinary.ndim != 2:
            raise UserError(f"Positions of shape {tuple(ordinary.shape)} are not [batch, time].")
        shape = (call.rows, ordinary.shape[1])
        counted = np.broadcast_to(ordinary.cpu().numpy(), shape)
        tokens = Tokens(counted, call.real, call.before, call.packed)
        tracked = self.policy.continued(call.cache) if cached_tokens(call.cache) else None
        drawn = call.draw.ids(tokens, None if tracked is None else tracked.of(call.rows))
        if len(ordinary) == 1 and (drawn == drawn[0]).all():
            drawn = drawn[:1]  # one row is enough, as in the model itself
        return torch.from_numpy(drawn).to(ordinary)

    @outside_of_graphs
    def _end(self, owner: nn.Module, args: tuple, output: Any) -> None:
        call, self._call = self._call, None
        if output is None or call is None:  # an exception is on its way
            return
        if not call.consumed:
            raise RuntimeError(
                f"{type(owner).__name__} never called {self.family.consumer!r}, so its positions "
                f"were not randomized; the family {self.family.name!r} does not fit this model."
            )
        self.policy.track(getattr(output, "past_key_values", None), call.draw, call.rows)

    def _generate(self, generate: Any, *args: Any, **kwargs: Any) -> Any:
        model, given = generate.__self__, generate_arguments(args, kwargs)
        refuse_padding_right(given.get("attention_mask"))
        if given.get("cache_implementation") == "paged":
            self._refuse_batching()
        sequences, columns = prompt_shape(given)
        new = new_tokens(model, given, columns)
        prompt = (sequences, columns + virtual_tokens(model))
        training = self.site.owner.training
        with contextlib.ExitStack() as stack:
            cache = given.get("past_key_values")
            spare = setting(model, given, "prompt_lookup_num_tokens") or 0
            stack.enter_context(self.policy.generation(prompt, cache, new, training, spare))
            helper = change_of(given.get("assistant_model"))
            if helper is not None and helper is not self:
                # It generates candidates in several calls, which continue one cache.
                if given.get("assistant_tokenizer") is not None:
                    raise UserError(
                        "An assistant with a tokenizer of its own counts other tokens; call "
                        "remove() on its randomized positions first."
                    )
                stack.enter_context(helper.policy.generation(prompt, None, new, training))
            return generate(*args, **kwargs)

    def _refuse_batching(self, *args: Any, **kwargs: Any) -> None:
        raise UserError(
            "Continuous batching mixes requests that would each need a draw of their own; "
            "call generate() with randomized positions instead."
        )


def change_of(model: nn.Module | None) -> RandomizedPositions | None:
    """Returns what `randomize_positions` did to a model, if anything."""
    if model is None:
        return None
    changes = (getattr(module, "_randpos", None) for module in model.modules())
    return next((change for change in changes if isinstance(change, RandomizedPositions)), None)

"""Checks on the user's own model that randomized positions do what they should, and no more."""

import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from randpos.errors import UserError
from randpos.huggingface.families import family_of
from randpos.huggingface.randomize import randomize_positions
from randpos.huggingface.sites import find_site, place_of

_FAR = 20_000


@dataclass(frozen=True)
class Finding:
    """One claim that was tried, whether it holds, and the number seen."""

    claim: str
    holds: bool
    seen: float

    def __str__(self) -> str:
        return f"{'ok    ' if self.holds else 'FAILED'} {self.claim} ({self.seen:.1e})"


@torch.no_grad()
def check(
    model: nn.Module, *, maximum: int | None = None, length: int = 12, seed: int = 0
) -> tuple[Finding, ...]:
    """Tries a model with and without randomized positions and compares what must be equal.

    It runs a few forward passes on random tokens in float32 (a half-precision model is converted
    for the time being, which is exact), and leaves the model as it was. A collapsed attention
    (every token seeing itself only) raises no error in `transformers`; here it does.

    Args:
        model: A `transformers` model with ordinary positions.
        maximum: L for the trial: the one that you will use. By default the capacity of a learned
            table, else 20,000: some models treat positions beyond 8,192 or 16,384 differently.
        length: Number of tokens of the trial.
        seed: Seed of tokens and draws.

    Returns:
        The claims that were tried. If any failed, `UserError` lists them instead.

    Example:
        >>> from transformers import GPT2Config, GPT2Model
        >>> model = GPT2Model(GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=2))
        >>> all(finding.holds for finding in check(model))
        True
    """
    family = family_of(model)
    if maximum is None:
        maximum = family.capacity(find_site(model, family).inner) or _FAR
    training = model.training
    model.eval()
    try:
        with _in_float32(model):
            findings = tuple(_Trial(model, maximum, length, seed).run())
    finally:
        model.train(training)
    if not all(finding.holds for finding in findings):
        failed = "; ".join(str(finding) for finding in findings if not finding.holds)
        raise UserError(f"The check failed: {failed}.")
    return findings


@contextlib.contextmanager
def _in_float32(model: nn.Module) -> Iterator[None]:
    """Converts half-precision weights for the time being: their rounding hides what is checked."""
    half = [
        (tensor, tensor.dtype)
        for tensor in (*model.parameters(), *model.buffers())
        if tensor.dtype in (torch.float16, torch.bfloat16)
    ]
    for tensor, _ in half:
        tensor.data = tensor.data.float()
    try:
        yield
    finally:
        for tensor, dtype in half:
            tensor.data = tensor.data.to(dtype)


class _Trial:
    """The forward passes of a check; all of them use draw 0 of the seed."""

    def __init__(self, model: Any, maximum: int, length: int, seed: int) -> None:
        self.model, self.maximum, self.length, self.seed = model, maximum, length, seed
        generator = torch.Generator().manual_seed(seed)
        config = model.config.get_text_config()
        vocabulary = config.vocab_size
        padding = -1 if config.pad_token_id is None else config.pad_token_id
        tokens = torch.randint(0, vocabulary, (2, length), generator=generator)
        # RoBERTa-type models count tokens that are not padding.
        tokens = torch.where(tokens == padding, (tokens + 1) % vocabulary, tokens)
        self.tokens = tokens.to(model.device)
        self.other = self.tokens.clone()
        self.other[:, 0] = torch.where(tokens[:, 0] == tokens[:, 1], tokens[:, 2], tokens[:, 1])
        self.tolerance = 0.0

    def run(self) -> list[Finding]:
        plain = self.forward(self.tokens)
        with self.randomized(self.seed):
            drawn = self.forward(self.tokens)
        with self.randomized(self.seed):
            again = self.forward(self.tokens)
        with self.randomized(self.seed + 1):
            redrawn = self.forward(self.tokens)
        with self.randomized(self.seed):
            moved = self.forward(self.other)
        # A mismatch counts if it is not small beside the effect of positions, or of rounding.
        rounding = 2e-6 * max(1.0, float(drawn.abs().max()))
        self.tolerance = max(_gap(drawn, redrawn) / 100, rounding)
        return [
            self.differ("another draw gives another output", drawn, redrawn),
            self.differ("the last token sees the first one", drawn[:, -1], moved[:, -1]),
            self.same("the same seed gives the same output", drawn, again),
            *self.explicit(drawn),
            self.cached(drawn),
            self.same("a row padded on the right equals the row alone", drawn, self.padded(0, 1)),
            self.same("a row padded on the left equals the row alone", drawn, self.padded(1, 0)),
            Finding(
                "the model is restored bit for bit",
                torch.equal(plain, self.forward(self.tokens)),
                _gap(plain, self.forward(self.tokens)),
            ),
        ]

    def explicit(self, drawn: Tensor) -> list[Finding]:
        """Compares with explicit position ids; a mask prevents that they are read as packing."""
        seen: list[Tensor] = []
        with self.randomized(self.seed) as change:
            name, site = change.family.argument, change.site

            def note(module: nn.Module, args: tuple, kwargs: dict) -> None:
                place = place_of(name, site.inner, args)
                seen.append(kwargs[name] if place is None else args[place])

            handle = site.consumer.register_forward_pre_hook(note, with_kwargs=True)
            self.forward(self.tokens)
            handle.remove()
        ids = seen[0].expand(len(self.tokens), -1)
        mask = torch.ones_like(self.tokens)
        byhand = self.forward(self.tokens, position_ids=ids, attention_mask=mask)
        return [self.same("it equals explicit ids with a full mask", drawn, byhand)]

    def cached(self, drawn: Tensor) -> Finding:
        """Compares with the second half computed from a cache of the first."""
        half = self.length // 2
        takes_cache = "use_cache" in inspect.signature(self.model.forward).parameters
        options = {"use_cache": True} if takes_cache else {}
        with self.randomized(self.seed, reserve=self.length - half):
            first = self.model(self.tokens[:, :half], **options)
            cache = getattr(first, "past_key_values", None)
            if cache is None:
                return Finding("it keeps no cache", True, 0.0)
            second = self.model(self.tokens[:, half:], past_key_values=cache, **options)[0]
        return self.same("cached equals uncached", drawn, torch.cat([first[0], second], dim=1))

    def padded(self, left: int, right: int) -> Tensor:
        """Returns the outputs of the tokens with as many padding tokens on one side."""
        padding = self.model.config.get_text_config().pad_token_id or 0
        around = (left * self.length, right * self.length)
        tokens = nn.functional.pad(self.tokens, around, value=padding)
        mask = nn.functional.pad(torch.ones_like(self.tokens), around)
        with self.randomized(self.seed):
            out = self.forward(tokens, attention_mask=mask)
        return out[:, around[0] : around[0] + self.length]

    def randomized(self, seed: int, reserve: int = 0) -> Any:
        return randomize_positions(self.model, maximum=self.maximum, seed=seed, reserve=reserve)

    def forward(self, tokens: Tensor, **kwargs: Any) -> Tensor:
        return self.model(tokens, **kwargs)[0]

    def same(self, claim: str, left: Tensor, right: Tensor) -> Finding:
        gap = _gap(left, right)
        return Finding(claim, gap <= self.tolerance, gap)

    def differ(self, claim: str, left: Tensor, right: Tensor) -> Finding:
        gap = _gap(left, right)
        return Finding(claim, gap > 0, gap)


def _gap(left: Tensor, right: Tensor) -> float:
    return float((left - right).abs().max())

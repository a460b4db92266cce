"""A proof on the user's own model that randomized positions do what they should, and no more."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from randpos.errors import UserError
from randpos.huggingface.randomize import randomize_positions
from randpos.huggingface.sites import arguments


@dataclass(frozen=True)
class Finding:
    """One thing that was tried: what should hold, whether it does, and the number seen."""

    claim: str
    holds: bool
    seen: float

    def __str__(self) -> str:
        return f"{'ok    ' if self.holds else 'FAILED'} {self.claim} ({self.seen:.1e})"


@torch.no_grad()
def check(
    model: nn.Module, *, maximum: int = 128, length: int = 12, seed: int = 0
) -> tuple[Finding, ...]:
    """Tries a model with and without randomized positions and compares what must be equal.

    It runs a few forward passes on random tokens, and leaves the model as it was. A collapsed
    attention (every token seeing itself only) raises no error in `transformers`; here it does.

    Args:
        model: A `transformers` model with ordinary positions.
        maximum: L for the trial.
        length: Number of tokens of the trial.
        seed: Seed of tokens and draws.

    Returns:
        What was tried. `UserError` is raised if anything failed, with the list.

    Example:
        >>> from transformers import GPT2Config, GPT2Model
        >>> model = GPT2Model(GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=2))
        >>> all(finding.holds for finding in check(model))
        True
    """
    training = model.training
    model.eval()
    try:
        findings = tuple(_Trial(model, maximum, length, seed).run())
    finally:
        model.train(training)
    if not all(finding.holds for finding in findings):
        failed = "; ".join(str(finding) for finding in findings if not finding.holds)
        raise UserError(f"The check failed: {failed}.")
    return findings


class _Trial:
    """The forward passes of a check; every one is made with the same draw, number 0 of the seed."""

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
        exact = model.dtype in (torch.float32, torch.float64)
        self.tolerance = 1e-4 if exact else 5e-2

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
        return [
            self.differ("another draw gives another output", drawn, redrawn),
            self.differ("the last token sees the first one", drawn[:, -1], moved[:, -1]),
            self.same("the same seed gives the same output", drawn, again),
            *self.explicit(drawn),
            *self.cached(drawn),
            self.same("a padded row equals the row alone", drawn, self.padded()),
            Finding(
                "the model is restored bit for bit",
                torch.equal(plain, self.forward(self.tokens)),
                _gap(plain, self.forward(self.tokens)),
            ),
        ]

    def explicit(self, drawn: Tensor) -> list[Finding]:
        """Compares with the ids given by hand, and a mask that keeps them from meaning packing."""
        seen: list[Tensor] = []
        with self.randomized(self.seed) as change:
            name, consumer = change.family.argument, change.site.consumer

            def note(module: nn.Module, args: tuple, kwargs: dict) -> None:
                seen.append(arguments(module, args, kwargs)[name])

            handle = consumer.register_forward_pre_hook(note, with_kwargs=True)
            self.forward(self.tokens)
            handle.remove()
        ids = seen[0].expand(len(self.tokens), -1)
        mask = torch.ones_like(self.tokens)
        byhand = self.forward(self.tokens, position_ids=ids, attention_mask=mask)
        return [self.same("it equals explicit ids with a full mask", drawn, byhand)]

    def cached(self, drawn: Tensor) -> list[Finding]:
        """Compares with the second half computed from a cache of the first."""
        half = self.length // 2
        with self.randomized(self.seed, reserve=self.length - half):
            first = self.model(self.tokens[:, :half])
            cache = getattr(first, "past_key_values", None)
            if cache is None:
                return []
            second = self.model(self.tokens[:, half:], past_key_values=cache)[0]
        return [self.same("cached equals uncached", drawn, torch.cat([first[0], second], dim=1))]

    def padded(self) -> Tensor:
        """Returns the outputs of the tokens with as many padding tokens behind them."""
        padding = self.model.config.get_text_config().pad_token_id or 0
        tokens = nn.functional.pad(self.tokens, (0, self.length), value=padding)
        mask = nn.functional.pad(torch.ones_like(self.tokens), (0, self.length))
        with self.randomized(self.seed):
            return self.forward(tokens, attention_mask=mask)[:, : self.length]

    def randomized(self, seed: int, reserve: int = 0) -> Any:
        return randomize_positions(self.model, maximum=self.maximum, seed=seed, reserve=reserve)

    def forward(self, tokens: Tensor, **kwargs: Any) -> Tensor:
        return self.model(tokens, **kwargs)[0]

    def same(self, claim: str, one: Tensor, other: Tensor) -> Finding:
        gap = _gap(one, other)
        return Finding(claim, gap <= self.tolerance * max(1.0, float(one.abs().max())), gap)

    def differ(self, claim: str, one: Tensor, other: Tensor) -> Finding:
        gap = _gap(one, other)
        return Finding(claim, gap > 0, gap)


def _gap(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())

"""A tiny Llama learns to reverse strings of up to 20 symbols, and is asked for 60.

    python examples/huggingface_llama.py

The model, the data and the training are the same twice; only the second time its positions are
randomized, in training and in `generate`. With ordinary positions it reverses what is as long as
its training data and nothing longer.
"""

import argparse
from typing import Any

import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, get_cosine_schedule_with_warmup

from randpos.huggingface import randomize_positions

START, REVERSE = 0, 1  # two special tokens; the symbols follow


def strings(count: int, length: int, symbols: int) -> tuple[Tensor, Tensor]:
    """Draws strings of different symbols: the prompts, and the answers."""
    text = 2 + torch.rand(count, symbols).argsort(dim=-1)[:, :length]
    edge = torch.ones(count, 1, dtype=torch.long)
    return torch.cat([START * edge, text, REVERSE * edge], dim=1), text.flip(-1)


def tiny_llama(symbols: int) -> LlamaForCausalLM:
    """Builds a Llama of 80,000 parameters."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=2 + symbols,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            bos_token_id=None,
            eos_token_id=None,
        )
    )


def train(
    model: LlamaForCausalLM, steps: int, batch: int, longest: int, symbols: int, rate: float
) -> None:
    """Trains on strings of 1 to `longest` symbols, one length per batch."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    schedule = get_cosine_schedule_with_warmup(optimizer, steps // 20, steps)
    model.train()
    for _ in range(steps):
        prompt, answer = strings(batch, int(torch.randint(1, longest + 1, ())), symbols)
        labels = torch.cat([torch.full_like(prompt, -100), answer], dim=1)
        loss = model(torch.cat([prompt, answer], dim=1), labels=labels, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()


def accuracy(model: Any, length: int, symbols: int) -> float:
    """Returns the share of symbols that greedy generation gets right."""
    prompt, answer = strings(64, length, symbols)
    model.eval()
    out = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=length,
        do_sample=False,
    )
    return float((out[:, prompt.shape[1] :] == answer).float().mean())


def compare(
    steps: int = 4000,
    batch: int = 64,
    longest: int = 20,
    asked: tuple[int, ...] = (20, 40, 60),
    maximum: int = 128,
    rate: float = 3e-3,
    seed: int = 0,
) -> dict[str, list[float]]:
    """Trains both models and returns their accuracies at the lengths asked."""
    symbols = max(asked) + 4
    found = {}
    for way in ("ordinary", "randomized"):
        torch.manual_seed(seed)
        model = tiny_llama(symbols)
        if way == "randomized":
            randomize_positions(model, maximum=maximum, seed=seed)
        train(model, steps, batch, longest, symbols, rate)
        found[way] = [accuracy(model, length, symbols) for length in asked]
        shown = "  ".join(f"{n}: {share:.2f}" for n, share in zip(asked, found[way], strict=True))
        print(f"{way:>10} positions, trained to length {longest}; accuracy at length {shown}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4000, help="training steps of each model")
    compare(parser.parse_args().steps)

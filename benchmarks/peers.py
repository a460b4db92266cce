"""Training steps beside PyTorch, eager and compiled, and Flax NNX, with compile times apart.

    python benchmarks/peers.py

All take the same steps of one length on one core: the paper's batch, a Transformer encoder of
`layers` blocks without positions, Adam, clipping. Contenders are timed in turns, in seconds of the
processor, and the fastest turn counts. Compilation counts child processes too: Inductor calls a C++
compiler.
"""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import tyro

from timing import children_seconds, in_turns, pin

STEPS = 5
"""Steps per turn."""


@dataclass
class Peers:
    """Times the contenders at one length."""

    length: int = 40
    batch: int = 128
    layers: int = 2
    turns: int = 3

    def __call__(self) -> None:
        """Prints a table in Markdown."""
        pin()
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
            contenders = {
                "PyTorch, eager": self.torch(compiled=False),
                "PyTorch, torch.compile": self.torch(compiled=True),
                "Flax NNX, MultiHeadAttention": self.flax(),
                "randpos": self.ours(),
            }
            compiling = {}
            for name, run in contenders.items():
                began = time.process_time() + children_seconds()
                run()
                compiling[name] = time.process_time() + children_seconds() - began
            best = in_turns(contenders, self.turns)
        eager = best["PyTorch, eager"]
        print("| trained with | compile | per step | speed |")
        print("|---|---:|---:|---:|")
        for name, fastest in best.items():
            extra = max(0.0, compiling[name] - fastest)
            each = fastest / STEPS * 1000
            print(f"| {name} | {extra:.1f} s | {each:.0f} ms | {eager / fastest:.2f} × |")

    def ours(self) -> Callable[[], object]:
        """Returns a function that takes STEPS steps of Missing Duplicate without positions."""
        from randpos import Architecture, Experiment, Schedule
        from randpos.training.engine import Engine
        from randpos.training.step import make_member

        experiment = Experiment(
            task="missing_duplicate",
            encoding="none",
            batch=self.batch,
            model=Architecture(layers=self.layers),
            lengths=Schedule("fixed", self.length),
        )
        engine, who = Engine(experiment), make_member(experiment)
        state = engine.pack(engine.start(who))
        return lambda: engine.advance_packed(state, who, 0, STEPS)

    def torch(self, compiled: bool) -> Callable[[], object]:
        """Returns a function that takes STEPS steps with PyTorch's own encoder."""
        import torch
        from torch import nn

        torch.set_num_threads(1)
        layer = nn.TransformerEncoderLayer(64, 8, 256, 0.1, batch_first=True)
        encoder = nn.TransformerEncoder(layer, self.layers, enable_nested_tensor=False)
        model = nn.Sequential(nn.Embedding(4, 64), encoder, nn.Linear(64, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
        tokens = self.length + 1  # one answer

        def loss_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return nn.functional.cross_entropy(model(x)[:, -1], y)

        loss_function = torch.compile(loss_of) if compiled else loss_of

        def run() -> None:
            for _ in range(STEPS):
                x = torch.randint(0, 2, (self.batch, tokens))
                y = torch.randint(0, 2, (self.batch,))
                optimizer.zero_grad()
                loss_function(x, y).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()

        return run

    def flax(self) -> Callable[[], object]:
        """Returns a function that takes STEPS steps with the attention of Flax NNX."""
        import jax
        import optax
        from flax import nnx  # pyright: ignore[reportMissingImports]

        rngs = nnx.Rngs(0)

        class Block(nnx.Module):
            def __init__(self) -> None:
                self.attention = nnx.MultiHeadAttention(8, 64, decode=False, rngs=rngs)
                self.first, self.second = nnx.LayerNorm(64, rngs=rngs), nnx.LayerNorm(64, rngs=rngs)
                self.up, self.down = nnx.Linear(64, 256, rngs=rngs), nnx.Linear(256, 64, rngs=rngs)
                self.dropout = nnx.Dropout(0.1, rngs=rngs)

            def __call__(self, x: jax.Array) -> jax.Array:
                x = self.first(x + self.dropout(self.attention(x)))
                return self.second(x + self.dropout(self.down(nnx.relu(self.up(x)))))

        blocks = [Block() for _ in range(self.layers)]
        embedding, head = nnx.Embed(4, 64, rngs=rngs), nnx.Linear(64, 2, rngs=rngs)
        model = nnx.Sequential(embedding, *blocks, head)
        chain = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(3e-4))
        optimizer = nnx.Optimizer(model, chain, wrt=nnx.Param)

        @nnx.jit
        def step(model: nnx.Module, optimizer: nnx.Optimizer, x: jax.Array, y: jax.Array):
            def loss_of(model):
                losses = optax.softmax_cross_entropy_with_integer_labels(model(x)[:, -1], y)
                return losses.mean()

            loss, grads = nnx.value_and_grad(loss_of)(model)
            optimizer.update(model, grads)
            return loss

        def run() -> None:
            for number in range(STEPS):
                key = jax.random.key(number)
                x = jax.random.randint(key, (self.batch, self.length + 1), 0, 2)
                y = jax.random.randint(key, (self.batch,), 0, 2)
                jax.block_until_ready(step(model, optimizer, x, y))

        return run


if __name__ == "__main__":
    tyro.cli(Peers)()

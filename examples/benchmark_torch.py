"""A plain PyTorch encoder learns a task at lengths 1 to 40 and is tested up to 100.

    python examples/benchmark_torch.py --task bucket_sort --store runs
    randpos table table1 --store runs

The data come from `randpos.benchmark`, which needs no JAX knowledge. The model is a standard
`nn.TransformerEncoder` with sinusoidal positions.
"""

import argparse
import math

import torch
from torch import Tensor, nn

from randpos.benchmark import EncoderVocabulary, Entry, Result, evaluate
from randpos.benchmark.torch import TrainingBatches, torch_model
from randpos.tasks import get_task


class PlainEncoder(nn.Module):
    """Embeds tokens, adds sinusoids, and predicts a class at every position."""

    def __init__(self, vocabulary: int, classes: int, dim: int = 64, layers: int = 3) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        layer = nn.TransformerEncoderLayer(dim, 8, 4 * dim, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        """Maps ids [batch, T] to logits [batch, T, classes]."""
        dim = self.embed.embedding_dim
        place = torch.arange(tokens.shape[1]).unsqueeze(1)
        rate = torch.exp(-math.log(10_000) * torch.arange(0, dim, 2) / dim)
        positions = torch.cat([torch.sin(place * rate), torch.cos(place * rate)], dim=1)
        return self.head(self.encoder(self.embed(tokens) + positions))


def train(task: str, steps: int, batch: int, longest: int, seed: int) -> PlainEncoder:
    """Trains on lengths 1 to `longest`, one length per step."""
    torch.manual_seed(seed)
    problem = get_task(task)
    model = PlainEncoder(len(EncoderVocabulary(problem)), problem.classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = iter(TrainingBatches(task, range(1, longest + 1), batch, seed))
    for _ in range(steps):
        rows = next(data)
        logits = model(rows["input_ids"])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), rows["labels"].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def run(
    task: str = "bucket_sort",
    steps: int = 1000,
    batch: int = 64,
    longest: int = 40,
    lengths: tuple[int, ...] = (1, 10, 20, 30, 40, 41, 50, 60, 70, 80, 90, 100),
    count: int = 100,
    seed: int = 0,
    store: str | None = None,
) -> Result:
    """Trains a model, tests it, prints accuracy by length and stores the result."""
    model = train(task, steps, batch, longest, seed)
    entry = Entry(store, "torch-sincos", steps, batch, seed=seed) if store else None
    result = evaluate(
        torch_model(model, task),
        task,
        lengths,
        count=count,
        training_length=longest,
        entry=entry,
    )
    for tested in result.accuracies:
        print(f"length {tested.length:>4}: {100 * tested.accuracy:5.1f} %")
    if result.score is not None:
        print(f"score (lengths beyond {longest}): {100 * result.score:.1f} %")
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="bucket_sort")
    parser.add_argument("--steps", type=int, default=1000, help="training steps")
    parser.add_argument("--store", help="folder of a store that the result goes to")
    options = parser.parse_args()
    run(options.task, options.steps, store=options.store)

"""The benchmark for PyTorch: examples as an `IterableDataset`, and a module as a model."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from randpos.benchmark.evaluation import AnswerError, Model, check_finite
from randpos.benchmark.formats import Form, Layout, Padding, fitted
from randpos.benchmark.sampling import Examples, Lengths, batches
from randpos.errors import UserError, unknown
from randpos.extras import MissingExtraError
from randpos.tasks import get_task

try:
    import torch
    from torch.utils.data import IterableDataset, get_worker_info
except ImportError as error:
    raise MissingExtraError("randpos.benchmark.torch", "PyTorch", "torch") from error


class ExamplesDataset(IterableDataset[dict[str, Any]]):
    """Yields examples one by one as tensors; a `DataLoader` collates them.

    With workers, each takes every k-th block. Pass `multiprocessing_context="spawn"`: the examples
    are sampled with JAX, which must not be forked.

    Args:
        data: The examples.
        form: See `Layout`.
        padding: Side that rows are padded on; all rows are as wide as those of the longest length.
    """

    def __init__(self, data: Examples, form: Form = "encoder", padding: Padding = "right") -> None:
        super().__init__()
        self.name, self.lengths = data.task.name, data.lengths
        self.data = data
        self.layout = fitted(Layout(form, padding), data.task, data.lengths)
        if form == "tokens":
            raise UserError("form='tokens' has rows of different lengths; pass encoder or decoder.")

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = get_worker_info()
        mine, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        for number, block in enumerate(self.data):
            if number % workers == mine:
                columns = tensors(self.layout.columns(self.data.task, block))
                for row in zip(*columns.values(), strict=True):
                    yield dict(zip(columns, row, strict=True))


class TrainingBatches(IterableDataset[dict[str, Any]]):
    """Yields training batches without end, each of one length, as in the paper.

    Pass it to `DataLoader(..., batch_size=None)`, or iterate over it.

    Args:
        task: A task's name, or `module:Class`.
        lengths: The lengths to draw from.
        batch: Examples per batch.
        seed: Seed of lengths and examples.
        form: `encoder` or `decoder`; see `Layout`.
        padding: Side that rows are padded on; only answers with a terminator need it.
    """

    def __init__(
        self,
        task: str,
        lengths: Lengths = range(1, 41),
        batch: int = 128,
        seed: int = 0,
        form: Form = "encoder",
        padding: Padding = "right",
    ) -> None:
        super().__init__()
        if form not in ("encoder", "decoder"):
            raise unknown("form of training batches", form, ("encoder", "decoder"))
        self.arguments = (task, lengths, batch, seed)
        self.layout = Layout(form, padding)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if get_worker_info() is not None:
            raise UserError("TrainingBatches is one stream; pass num_workers=0 to the DataLoader.")
        task = get_task(self.arguments[0])
        for block in batches(*self.arguments):
            yield tensors(self.layout.columns(task, block))


def tensors(columns: Any) -> dict[str, Any]:
    """Turns arrays into tensors; lists of text stay as they are."""
    return {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        for name, value in columns.items()
    }


def torch_model(module: torch.nn.Module, task: str, device: str | torch.device = "cpu") -> Model:
    """Makes a PyTorch module a model that `evaluate` can test.

    The module maps ids [batch, T] (inputs, then placeholders) to logits [batch, T, classes], of
    which the last |y| positions count, or to logits of these alone [batch, |y|, classes]. It is
    called in evaluation mode without gradients; afterwards its mode is as before.

    Args:
        module: The model.
        task: The task's name.
        device: Where the module is.
    """
    problem = get_task(task)

    def answer(tokens: np.ndarray) -> np.ndarray:
        training = module.training
        module.eval()
        try:
            with torch.no_grad():
                out = module(torch.from_numpy(tokens).to(device))
        finally:
            module.train(training)
        if not isinstance(out, torch.Tensor):
            raise AnswerError(
                f"the module returned a {type(out).__name__} for tokens of shape {tokens.shape}; "
                "wrap it so that it returns logits."
            )
        logits = out.float().cpu().numpy()
        examples, size = tokens.shape
        outputs = int((tokens[0] == problem.tokens).sum())
        shapes = [(examples, length, problem.classes) for length in (size, outputs)]
        given = f"for tokens of shape {tokens.shape}"
        if logits.shape not in shapes:
            raise AnswerError(
                f"the module returned logits of shape {logits.shape} {given}; return shape "
                f"{shapes[0]}, or {shapes[1]} for the placeholders alone."
            )
        check_finite(logits, given)
        return logits[:, -outputs:].argmax(axis=-1)

    return answer

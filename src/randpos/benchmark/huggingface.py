"""The benchmark for Hugging Face: examples as data sets, and `generate` as a model."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from randpos.benchmark.evaluation import AnswerError, Model
from randpos.benchmark.export import frames
from randpos.benchmark.formats import Form, Layout, Padding, fitted
from randpos.benchmark.sampling import Examples
from randpos.benchmark.vocabulary import DecoderVocabulary
from randpos.extras import MissingExtraError
from randpos.tasks import get_task

if TYPE_CHECKING:
    from datasets import Dataset, IterableDataset


def to_dataset(data: Examples, form: Form = "decoder", padding: Padding = "right") -> "Dataset":
    """Returns the examples as a `datasets.Dataset` in memory.

    Args:
        data: The examples.
        form: See `Layout`. Encoder and decoder rows are as wide as those of the longest length.
        padding: Side that rows are padded on.
    """
    try:
        from datasets import Dataset
    except ImportError as error:
        raise MissingExtraError("to_dataset", "datasets", "benchmark") from error
    return Dataset.from_polars(pl.concat(list(frames(data, Layout(form, padding)))))


def to_stream(
    data: Examples, form: Form = "decoder", padding: Padding = "right"
) -> "IterableDataset":
    """Returns the examples as a `datasets.IterableDataset` that samples them while it is read.

    The arguments are those of `to_dataset`.
    """
    try:
        from datasets import IterableDataset
    except ImportError as error:
        raise MissingExtraError("to_stream", "datasets", "benchmark") from error
    layout = fitted(Layout(form, padding), data.task, data.lengths)

    def rows() -> Iterator[dict[str, Any]]:
        for block in data:
            yield from layout.rows(data.task, block)

    return IterableDataset.from_generator(rows)


def causal_model(model: Any, task: str) -> Model:
    """Makes a Hugging Face causal model one that `evaluate` can test, by greedy `generate`.

    The model reads the ids of `DecoderVocabulary`: those of the form `decoder`. It generates |y|
    tokens after the separator. No symbol ends the generation, whatever `eos_token_id` says.

    Args:
        model: A `PreTrainedModel` with `generate`.
        task: The task's name.
    """
    import torch

    problem = get_task(task)
    words = DecoderVocabulary(problem)

    def answer(tokens: np.ndarray) -> np.ndarray:
        outputs = int((tokens[0] == problem.tokens).sum())
        ends = np.full((len(tokens), 1), words.separator)
        prompt = np.concatenate([tokens[:, :-outputs], ends], axis=1)
        ids = torch.from_numpy(prompt).to(model.device)
        training = model.training
        model.eval()
        try:
            out = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=outputs,
                do_sample=False,
                num_beams=1,
                eos_token_id=None,
                pad_token_id=words.padding,
            )
        finally:
            model.train(training)
        new = out[:, prompt.shape[1] :].cpu().numpy()
        if new.shape[1] < outputs:
            raise AnswerError(
                f"the model generated {new.shape[1]} tokens for tokens of shape {tokens.shape}; "
                f"{outputs} are needed."
            )
        return words.to_classes(new)

    return answer

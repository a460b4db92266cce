"""The forms in which examples are handed out: tokens, text, and arrays for two kinds of models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Int

from randpos.benchmark.streams import Block
from randpos.benchmark.vocabulary import SEPARATOR, DecoderVocabulary, EncoderVocabulary
from randpos.errors import UserError, unknown
from randpos.tasks.base import Task

Form = Literal["tokens", "text", "encoder", "decoder"]
Padding = Literal["left", "right"]
Columns = Mapping[str, np.ndarray | list[Any]]

IGNORED = -100
"""The label that PyTorch's cross-entropy skips."""


@dataclass(frozen=True)
class Layout:
    """The columns of an example.

    Every form has the column `length`, the sampled length n.
    """

    form: Form = "tokens"
    """tokens: inputs, outputs, counted. text: prompt, answer and both as text.
    encoder: input_ids (placeholders at the outputs), attention_mask, labels (classes).
    decoder: input_ids (prompt, separator, answer), attention_mask, labels.
    Labels are −100 where nothing is predicted. Text and decoder answers end at the terminator."""
    padding: Padding = "right"
    """Side that encoder and decoder rows are padded on."""
    width: int | None = None
    """Width of encoder and decoder rows; by default that of the block's longest row."""

    def __post_init__(self) -> None:
        if self.form not in get_args(Form):
            raise unknown("form", self.form, get_args(Form))
        if self.padding not in get_args(Padding):
            raise unknown("padding", self.padding, get_args(Padding))

    def columns(self, task: Task, block: Block) -> Columns:
        """Returns the columns of a block; each has one entry per example."""
        lengths = np.full(len(block.inputs), block.length)
        if self.form == "tokens":
            _, inputs, outputs, counted = block
            arrays = {"inputs": inputs, "outputs": outputs, "counted": counted}
            return {"length": lengths, **arrays}
        if self.form == "text":
            prompts, answers = text(task, block)
            both = [f"{p} {a}" for p, a in zip(prompts, answers, strict=True)]
            return {"length": lengths, "prompt": prompts, "answer": answers, "text": both}
        make = encoder_arrays if self.form == "encoder" else decoder_arrays
        ids, labels, pad = make(task, block)
        return {"length": lengths, **self._padded(ids, labels, pad, block.length)}

    def rows(self, task: Task, block: Block) -> Iterator[dict[str, Any]]:
        """Yields the examples of a block one by one, as plain lists, numbers and strings."""
        columns = self.columns(task, block)
        values = (v.tolist() if isinstance(v, np.ndarray) else v for v in columns.values())
        for row in zip(*values, strict=True):
            yield dict(zip(columns, row, strict=True))

    def _padded(
        self, ids: np.ndarray, labels: np.ndarray, pad: int, length: int
    ) -> dict[str, np.ndarray]:
        """Pads rows to the width; decoder rows may already end in padding."""
        used = (ids != pad).sum(axis=1)
        longest = int(used.max())
        width = longest if self.width is None else self.width
        if width < longest:
            raise UserError(
                f"width={width} is too small for length {length}, whose rows have up to {longest} "
                f"tokens; pass {longest} or more."
            )
        room = ((0, 0), (0, max(0, width - ids.shape[1])))
        ids = np.pad(ids, room, constant_values=pad)[:, :width]
        labels = np.pad(labels, room, constant_values=IGNORED)[:, :width]
        if self.padding == "left":
            order = (np.arange(width) - (width - used[:, None])) % width
            ids, labels = (np.take_along_axis(x, order, axis=1) for x in (ids, labels))
        return {
            "input_ids": ids.astype(np.int64),
            "attention_mask": (ids != pad).astype(np.int64),
            "labels": labels.astype(np.int64),
        }


def fitted(layout: Layout, task: Task, lengths: Sequence[int]) -> Layout:
    """Returns the layout with a width that rows of all lengths fit into, unless it has one."""
    length = max(lengths)
    room = int(task.input_length(length)) + int(task.output_length(length))
    return replace(layout, width=layout.width or room + (layout.form == "decoder"))


def placeholders(task: Task, block: Block) -> Int[np.ndarray, "examples tokens"]:
    """Returns the inputs followed by one placeholder per output: what an encoder reads."""
    blank = np.full_like(block.outputs, EncoderVocabulary(task).placeholder)
    return np.concatenate([block.inputs, blank], axis=1).astype(np.int64)


def encoder_arrays(task: Task, block: Block) -> tuple[np.ndarray, np.ndarray, int]:
    """Returns ids and labels without padding, and the id of padding.

    As in the paper's loss, labels include the outputs after a terminator.
    """
    ignored = np.full_like(block.inputs, IGNORED)
    labels = np.concatenate([ignored, block.outputs], axis=1)
    return placeholders(task, block), labels, EncoderVocabulary(task).padding


def prompts(task: Task, block: Block) -> Int[np.ndarray, "examples tokens"]:
    """Returns the inputs followed by the separator: what a decoder continues."""
    separator = np.full((len(block.inputs), 1), DecoderVocabulary(task).separator)
    return np.concatenate([block.inputs, separator], axis=1).astype(np.int64)


def decoder_arrays(task: Task, block: Block) -> tuple[np.ndarray, np.ndarray, int]:
    """Returns ids and labels, padded on the right after a terminator, and the id of padding.

    Labels stand under the tokens that they name: causal models shift them by one themselves.
    """
    words = DecoderVocabulary(task)
    prompt, answer = prompts(task, block), words.classes[block.outputs]
    ids = np.concatenate([prompt, np.where(block.counted, answer, words.padding)], axis=1)
    labels = np.where(block.counted, answer, IGNORED)
    labels = np.concatenate([np.full_like(prompt, IGNORED), labels], axis=1)
    return ids, labels, words.padding


def text(task: Task, block: Block) -> tuple[list[str], list[str]]:
    """Returns prompts such as `0 1 1 =` and answers such as `1 1 0`."""
    prompts = [f"{line} {SEPARATOR}" for line in spaced(block.inputs, task.symbols)]
    answers = spaced(block.outputs, task.output_symbols)
    if task.terminator is not None:
        ends = block.counted.sum(axis=1)
        answers = [line[: 2 * end - 1] for line, end in zip(answers, ends, strict=True)]
    return prompts, answers


def spaced(tokens: Int[np.ndarray, "examples tokens"], symbols: str) -> list[str]:
    """Writes rows of tokens as symbols with spaces between them.

    >>> spaced(np.array([[0, 1, 2], [2, 2, 0]]), "01+")
    ['0 1 +', '+ + 0']
    """
    examples, width = tokens.shape
    letters = np.full((examples, 2 * width), " ", dtype="<U1")
    letters[:, ::2] = np.array(list(symbols))[tokens]
    # NumPy drops trailing blanks of strings only if they are NUL, so the last column is cut.
    lines = np.ascontiguousarray(letters[:, : 2 * width - 1])
    return lines.view(f"<U{2 * width - 1}")[:, 0].tolist()

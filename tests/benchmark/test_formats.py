"""Forms of an example, against rows written by hand and read back by plain Python."""

import numpy as np
import pytest

from randpos.benchmark import Block, DecoderVocabulary, EncoderVocabulary, Layout, examples
from randpos.errors import UserError
from randpos.tasks import TASKS
from tests.oracles.tasks import ORACLES

STACK = TASKS["stack_manipulation"]
# 0 1 PUSH1 → 1 1 0 .   and   1 POP POP → . 0 0 0
BLOCK = Block(
    3,
    np.array([[0, 1, 4], [1, 2, 2]], np.int32),
    np.array([[1, 1, 0, 2], [2, 0, 0, 0]], np.int32),
    np.array([[True] * 4, [True, False, False, False]]),
)
X = -100


def columns(**layout) -> dict[str, list]:
    found = Layout(**layout).columns(STACK, BLOCK)
    return {name: np.asarray(value).tolist() for name, value in found.items()}


def test_text():
    assert columns(form="text") == {
        "length": [3, 3],
        "prompt": ["0 1 ₁ =", "1 - - ="],
        "answer": ["1 1 0 .", "."],
        "text": ["0 1 ₁ = 1 1 0 .", "1 - - = ."],
    }


def test_an_encoder_reads_placeholders_and_is_asked_for_all_outputs():
    place, pad = EncoderVocabulary(STACK).placeholder, EncoderVocabulary(STACK).padding
    assert (place, pad, len(EncoderVocabulary(STACK))) == (5, 6, 7)
    assert columns(form="encoder", width=8) == {
        "length": [3, 3],
        "input_ids": [[0, 1, 4, 5, 5, 5, 5, 6], [1, 2, 2, 5, 5, 5, 5, 6]],
        "attention_mask": [[1] * 7 + [0]] * 2,
        "labels": [[X, X, X, 1, 1, 0, 2, X], [X, X, X, 2, 0, 0, 0, X]],
    }


def test_a_decoder_reads_one_alphabet_and_stops_at_the_terminator():
    words = DecoderVocabulary(STACK)
    assert words.symbols == ("0", "1", "-", "₀", "₁", ".")
    assert (words.separator, words.padding, len(words)) == (6, 7, 8)
    right = columns(form="decoder")
    assert right["input_ids"] == [[0, 1, 4, 6, 1, 1, 0, 5], [1, 2, 2, 6, 5, 7, 7, 7]]
    assert right["attention_mask"] == [[1] * 8, [1] * 5 + [0] * 3]
    assert right["labels"] == [[X, X, X, X, 1, 1, 0, 5], [X, X, X, X, 5, X, X, X]]
    left = columns(form="decoder", padding="left", width=9)
    assert left["input_ids"] == [[7, 0, 1, 4, 6, 1, 1, 0, 5], [7, 7, 7, 7, 1, 2, 2, 6, 5]]
    assert left["attention_mask"] == [[0] + [1] * 8, [0] * 4 + [1] * 5]
    assert left["labels"] == [[X, X, X, X, X, 1, 1, 0, 5], [X, X, X, X, X, X, X, X, 5]]


@pytest.mark.parametrize("name", TASKS)
def test_ids_of_a_decoder_spell_the_text_and_its_labels_the_answer(name):
    task, length = TASKS[name], 11
    words = DecoderVocabulary(task)
    spell = [*words.symbols, "=", ""]
    (block,) = examples(name, length, count=8, seed=3, split="test")
    texts = Layout("text").rows(task, block)
    rows = Layout("decoder", "left", width=80).rows(task, block)
    for inputs, written, row in zip(block.inputs.tolist(), texts, rows, strict=True):
        answer = "".join(task.output_symbols[c] for c in ORACLES[name](inputs, length))
        answer = answer.partition(".")[0] + "." * ("." in answer)
        assert written["answer"].replace(" ", "") == answer
        assert written["text"] == f"{written['prompt']} {written['answer']}"
        real = [i for i, mask in zip(row["input_ids"], row["attention_mask"], strict=True) if mask]
        assert " ".join(spell[i] for i in real) == written["text"]
        labels = [label for label in row["labels"] if label != X]
        assert real[-len(labels) :] == labels
        assert "".join(spell[label] for label in labels) == answer
        assert words.to_classes(np.array(labels)).tolist() == [
            task.output_symbols.index(symbol) for symbol in answer
        ]


def test_ids_that_are_no_output_have_no_class():
    words = DecoderVocabulary(STACK)
    assert words.to_classes(np.array([[5, 4, 6], [7, -1, 99]])).tolist() == [[2, -1, -1], [-1] * 3]


def test_a_width_that_is_too_small_is_a_sentence():
    with pytest.raises(UserError, match=r"width=7 .* length 3, .* up to 8 tokens; pass 8 or more"):
        columns(form="decoder", width=7)

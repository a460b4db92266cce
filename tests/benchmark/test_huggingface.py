"""Hugging Face: data sets, and greedy generation as a model."""

import numpy as np
import pytest
import torch
import transformers

from randpos.benchmark import DecoderVocabulary, evaluate, examples
from randpos.benchmark.formats import Layout, fitted
from randpos.benchmark.huggingface import causal_model, to_dataset, to_stream
from randpos.tasks import TASKS
from tests.oracles.tasks import ORACLES

DATA = examples("binary_addition", [3, 6], count=10, seed=2)


@pytest.mark.parametrize("form", ["tokens", "text", "encoder", "decoder"])
def test_both_data_sets_have_the_rows_of_the_layout(form):
    layout = fitted(Layout(form, "left"), DATA.task, DATA.lengths)
    expected = [row for block in DATA for row in layout.rows(DATA.task, block)]
    dataset = to_dataset(DATA, form, "left")
    assert [dict(row) for row in dataset] == expected
    assert list(to_stream(DATA, form, "left")) == expected


def tiny(task: str, **settings) -> transformers.LlamaForCausalLM:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(DecoderVocabulary(TASKS[task])),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        initializer_range=0.5,
        **settings,
    )
    return transformers.LlamaForCausalLM(config)


@pytest.mark.parametrize("task", ["reverse_string", "cycle_navigation"])
def test_generation_is_greedy_and_never_stops_early(task):
    """Compared with argmax token by token; token 1 is an answer, also if it is called EOS."""
    length = 6
    model = tiny(task, bos_token_id=None, eos_token_id=1, pad_token_id=None).train()
    words, problem = DecoderVocabulary(TASKS[task]), TASKS[task]
    (block,) = examples(task, length, count=12, split="test")
    size, right = int(problem.output_length(length)), 0
    model.eval()
    for inputs in block.inputs.tolist():
        ids = [*inputs, words.separator]
        for _ in range(size):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        answer = words.to_classes(np.array(ids[-size:])).tolist()
        right += sum(a == b for a, b in zip(answer, ORACLES[task](inputs, length), strict=True))
    model.train()
    result = evaluate(causal_model(model, task), task, [length], count=12, batch=5)
    assert result.accuracies[0].accuracy == right / (12 * size)
    assert model.training

"""A tiny Llama learns a task with `Trainer`, with plain and with randomized positions.

    python examples/benchmark_huggingface.py --task reverse_string

Both models are trained on lengths 1 to 20 and tested up to 60 by greedy `generate`.
"""

import argparse
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

from randpos.benchmark import DecoderVocabulary, Result, evaluate, examples
from randpos.benchmark.huggingface import causal_model, to_dataset
from randpos.huggingface import randomize_positions
from randpos.tasks import get_task


def tiny_llama(task: str) -> LlamaForCausalLM:
    """Builds a Llama of 80,000 parameters with the vocabulary of a task."""
    words = DecoderVocabulary(get_task(task))
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(words),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            pad_token_id=words.padding,
            bos_token_id=None,
            eos_token_id=None,
        )
    )


def train(model: LlamaForCausalLM, task: str, steps: int, longest: int, seed: int) -> None:
    """Trains on examples of the lengths 1 to `longest`, padded on the right."""
    data = examples(task, range(1, longest + 1), count=1000, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=64,
            learning_rate=3e-3,
            warmup_steps=steps // 20,
            lr_scheduler_type="cosine",
            weight_decay=0.01,
            seed=seed,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
        )
        dataset = to_dataset(data, "decoder").remove_columns("length")
        Trainer(model=model, args=arguments, train_dataset=dataset).train()


def compare(
    task: str = "reverse_string",
    steps: int = 4000,
    longest: int = 20,
    lengths: tuple[int, ...] = (10, 20, 30, 40, 50, 60),
    count: int = 64,
    maximum: int = 256,
    seed: int = 0,
) -> dict[str, Result]:
    """Trains and tests both models; prints accuracy by length."""
    found = {}
    for name in ("plain", "randomized"):
        torch.manual_seed(seed)
        model = tiny_llama(task)
        if name == "randomized":
            randomize_positions(model, maximum=maximum, seed=seed)
        train(model, task, steps, longest, seed)
        result = evaluate(
            causal_model(model, task), task, lengths, count=count, training_length=longest
        )
        shown = "  ".join(f"{a.length}: {100 * a.accuracy:.0f}" for a in result.accuracies)
        print(f"{name:>10} positions, accuracy in % at length {shown}")
        found[name] = result
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="reverse_string")
    parser.add_argument("--steps", type=int, default=4000, help="training steps of each model")
    options = parser.parse_args()
    compare(options.task, options.steps)

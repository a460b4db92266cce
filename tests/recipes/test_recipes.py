"""The snippets of docs/recipes run on tiny models, and do what their pages say."""

import copy
import importlib.util
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
)

from randpos.huggingface import randomize_positions
from randpos.huggingface.hooks import change_of
from tests.huggingface.tiny import fresh, tokens

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"
PYTHON = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
SETTINGS = {
    "max_steps": 2, "per_device_train_batch_size": 4, "report_to": [], "use_cpu": True,
    "disable_tqdm": True, "save_strategy": "no", "logging_steps": 1, "bf16": False,
}  # fmt: skip


def snippets(page: str) -> list[str]:
    return PYTHON.findall((RECIPES / f"{page}.md").read_text())


def run(code: str, names: dict) -> dict:
    exec(compile(code, "recipe", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)


def without(package: str) -> str:
    return f"{package} is not installed: its recipe is NOT tested (pip install 'randpos[recipes]')"


def test_every_page_is_tested_here():
    assert {page.stem for page in RECIPES.glob("*.md")} == {
        "training", "trl", "peft", "serving", "flax-keras",
    }  # fmt: skip


def test_trainer_and_loading():
    first, second, _ = snippets("training")
    data = [{"input_ids": row.tolist(), "labels": row.tolist()} for row in tokens(8, 10)]
    arguments = TrainingArguments("out", **SETTINGS)
    names = run(first, {"model": fresh("llama"), "arguments": arguments, "data": data})
    trainer: Trainer = names["trainer"]
    assert trainer.state.global_step == 2
    loaded = run(second, names)["model"]
    change = change_of(loaded)
    assert change is not None
    assert change.policy.law.maximum == 2048
    assert isinstance(loaded, type(AutoModelForCausalLM.from_pretrained("trained")))


def test_accelerate():
    batches = [{"input_ids": tokens(2, 6), "labels": tokens(2, 6)} for _ in range(3)]
    names = run(snippets("training")[2], {"model": fresh("llama"), "batches": batches})
    assert (
        names["change"].state_dict()["training"] + names["change"].state_dict()["evaluation"] == 3
    )
    assert torch.load("positions.pt") == names["change"].state_dict()


def test_distributed_data_parallel_draws_like_the_model_alone():
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{Path.cwd() / 'store'}", rank=0, world_size=1
    )
    try:
        model, ids = fresh("llama"), tokens(2, 6)
        with randomize_positions(model, maximum=100, seed=0):
            expected = model(ids).logits
        wrapped = torch.nn.parallel.DistributedDataParallel(model)
        with randomize_positions(wrapped, maximum=100, seed=0) as change:
            assert torch.equal(wrapped(ids).logits, expected)
            assert change.draws == 1
    finally:
        torch.distributed.destroy_process_group()


def test_peft():
    pytest.importorskip("peft", reason=without("PEFT"))
    names = run(snippets("peft")[0], {"model": fresh("llama"), "prompt": tokens(2, 5)})
    assert names["change"].draws == 1


def test_export():
    model, ids = fresh("llama"), tokens(2, 6)
    names = run(snippets("serving")[0], {"model": model, "tokens": ids})
    position_ids = names["position_ids"]
    expected = model(ids, position_ids=position_ids, attention_mask=torch.ones_like(ids)).logits
    torch.testing.assert_close(names["logits"], expected, rtol=0, atol=1e-5)
    assert (position_ids.diff(dim=-1) > 0).all()


@pytest.fixture
def words():
    """A tokenizer of single letters."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    special = ["<bos>", "<pad>", "<eos>", "<unk>"]
    letters = [chr(ord("a") + i) for i in range(26)]
    inner = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(special + letters)}, unk_token="<unk>")
    )
    inner.pre_tokenizer = pre_tokenizers.Whitespace()  # type: ignore[assignment]
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<bos>", pad_token="<pad>", eos_token="<eos>",
        unk_token="<unk>",
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore")
class TestTRL:
    """Losses of a model and an identical reference are those of no difference, exactly."""

    def test_sft_and_dpo(self, words):
        pytest.importorskip("trl", reason=without("TRL"))
        from datasets import Dataset

        texts = Dataset.from_dict({"text": ["a b c d e", "f g h", "i j k l"] * 4})
        pairs = Dataset.from_dict({
            "prompt": ["a b", "c d e"] * 4, "chosen": ["f g", "h i j"] * 4,
            "rejected": ["k l m", "n"] * 4,
        })  # fmt: skip
        sft, dpo, _ = snippets("trl")
        settings = {**SETTINGS, "output_dir": "out", "learning_rate": 0.0}
        names = {"model": fresh("llama"), "tokenizer": words, "settings": settings}
        names = run(sft, {**names, "texts": texts})
        assert names["change"].draws == 2
        plain = fresh("llama")
        assert names["trainer"].state.global_step == 2
        plain.load_state_dict(names["model"].state_dict())
        names = run(dpo, {**names, "reference": plain, "pairs": pairs})
        losses = [log["loss"] for log in names["trainer"].state.log_history if "loss" in log]
        assert losses == [pytest.approx(math.log(2), abs=1e-7)] * 2
        unheld = names["DPOTrainer"](
            names["model"], ref_model=plain, args=names["DPOConfig"](**settings),
            train_dataset=pairs, processing_class=words,
        )  # fmt: skip
        unheld.train()
        loss = next(log["loss"] for log in unheld.state.log_history if "loss" in log)
        assert abs(loss - math.log(2)) > 1e-4

    def test_grpo(self, words):
        trl = pytest.importorskip("trl", reason=without("TRL"))
        from datasets import Dataset

        model = fresh("llama")
        change = randomize_positions(model, maximum=200, seed=0)
        model.save_pretrained("start")
        model.config._name_or_path = "start"
        names = {"change": change, "randomize_positions": randomize_positions}
        held = run(snippets("trl")[2], names)["HeldGRPOTrainer"]
        settings = {**SETTINGS, "num_generations": 4, "max_completion_length": 6, "beta": 0.1}
        trainer = held(
            model,
            reward_funcs=lambda completions, **_: [float(len(c) % 3) for c in completions],
            args=trl.GRPOConfig("out", learning_rate=0.0, **settings),
            train_dataset=Dataset.from_dict({"prompt": ["a b c", "d e"] * 4}),
            processing_class=words,
        )
        trainer.train()
        divergences = [log["kl"] for log in trainer.state.log_history if "kl" in log]
        assert divergences == [0.0, 0.0]


@pytest.mark.parametrize(("number", "package"), [(0, "flax"), (1, "keras")])
def test_other_frameworks(number, package, tmp_path):
    """In a process of its own: Keras chooses its backend when it is imported."""
    if importlib.util.find_spec(package) is None:  # importing Keras here would choose a backend
        pytest.skip(without(package))
    ends = [
        "assert float(value) > 0\n"
        "moved = [attention(x, sample_positions(jax.random.key(i), 10)) for i in (0, 0, 1)]\n"
        "assert (moved[0] == moved[1]).all() and (moved[0] != moved[2]).any()\n",
        "one, other = (Batches()[i][0]['positions'] for i in (0, 1))\n"
        "assert (np.diff(one) > 0).all() and (one != other).any()\n"
        "assert len(history.history['loss']) == 2\n",
    ]
    script = tmp_path / "recipe.py"
    script.write_text(snippets("flax-keras")[number] + ends[number])
    environment = {**os.environ, "KERAS_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_copy_of_the_model_is_a_reference():
    """`copy.deepcopy` of a randomized model is randomized too, with the same seed and counters."""
    model = fresh("llama")
    change = randomize_positions(model, maximum=100, seed=0)
    twin = copy.deepcopy(model)
    other = change_of(twin)
    assert other is not None
    with change.hold(other):
        assert torch.equal(model(tokens(1, 5)).logits, twin(tokens(1, 5)).logits)

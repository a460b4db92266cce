"""lm-evaluation-harness lists and runs the generated tasks; its scores are those of `evaluate`."""

from typing import Any

import pytest
import tokenizers
import torch
import transformers

from randpos.benchmark import evaluate
from randpos.benchmark.huggingface import causal_model
from randpos.cli.main import main
from randpos.tasks import TASKS
from tests.benchmark.test_huggingface import tiny
from tests.oracles.tasks import ORACLES

lm_eval = pytest.importorskip(
    "lm_eval", reason="lm-evaluation-harness is not installed: its adapter is NOT tested"
)

from lm_eval.api.model import LM  # pyright: ignore[reportMissingImports]
from lm_eval.evaluator import simple_evaluate  # pyright: ignore[reportMissingImports]
from lm_eval.models.huggingface import HFLM  # pyright: ignore[reportMissingImports]
from lm_eval.tasks import TaskManager  # pyright: ignore[reportMissingImports]

NAMES = ["reverse_string", "stack_manipulation"]
SIZES = ["--lengths", "2-4,6,8", "--count", "5", "--training-length", "4"]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    """The harness with the tasks that the command wrote."""
    folder = tmp_path_factory.mktemp("harness")
    assert main(["tasks", "harness", *NAMES, *SIZES, "--out", str(folder)]) == 0
    assert main(["tasks", "harness", *NAMES, *SIZES, "--out", str(folder)]) == 2  # they exist
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.config.HF_DATASETS_CACHE", folder / "cache")
        yield TaskManager(include_path=str(folder), include_defaults=False)


def run(model, tasks: TaskManager, shots: int) -> dict:
    arguments: dict = {"model": model, "tasks": ["randpos_reverse_string"], "task_manager": tasks}
    found: Any = simple_evaluate(**arguments, num_fewshot=shots, bootstrap_iters=0)
    return found["results"]["randpos_reverse_string"]


class Solver(LM):
    """Reads the last line of a prompt and answers it, with one mistake from length 6 on."""

    tokenizer_name = "none"  # type: ignore[assignment]

    def generate_until(self, requests, disable_tqdm=False):
        return [self.answer(*request.arguments) for request in requests]

    def answer(self, prompt: str, options: dict) -> str:
        *shots, question = prompt.splitlines()
        assert len(shots) == 2
        assert all(len(shot.partition(" =")[0].split()) <= 4 for shot in shots)
        assert options["until"] == ["\n"]
        symbols = question.removesuffix(" =").split()
        tokens = [int(symbol) for symbol in symbols]
        answer = [str(bit) for bit in ORACLES["reverse_string"](tokens, len(tokens))]
        if len(tokens) >= 6:
            answer[0] = "?"
        return " " + " ".join(answer)

    def loglikelihood(self, requests):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


def test_the_harness_lists_the_tasks(tasks):
    assert set(tasks.all_tasks) == {"randpos", *(f"randpos_{name}" for name in NAMES)}


def test_few_shot_answers_are_scored_by_length(tasks):
    found = run(Solver(), tasks, shots=2)
    # Lengths 6 and 8 have a mistake per string; 5 lies before the first tested one, 7 between.
    assert found["score,none"] == pytest.approx((5 / 6 + (5 / 6 + 7 / 8) / 2 + 7 / 8) / 3)
    assert found["in_domain,none"] == 1.0
    assert found["whole,none"] == 3 / 5


def test_a_tiny_model_scores_as_in_evaluate(tasks):
    """With one token per symbol the harness and `evaluate` must agree exactly."""
    task = "reverse_string"
    ids = {symbol: i for i, symbol in enumerate([*TASKS[task].symbols, "=", "[PAD]"])}
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="[PAD]", eos_token="[PAD]"
    )
    model = tiny(task, bos_token_id=None, eos_token_id=None)
    with torch.no_grad():  # the logit of 1 is minus that of 0, so one of both beats the others' 0
        model.lm_head.weight[1] = -model.lm_head.weight[0]
        model.lm_head.weight[2:] = 0
    settings: dict = {"pretrained": model, "tokenizer": tokenizer, "device": "cpu"}
    harness = HFLM(**settings, max_length=200)  # type: ignore[call-arg]
    found = run(harness, tasks, shots=0)
    ours = evaluate(causal_model(model, task), task, [2, 3, 4, 6, 8], count=5, training_length=4)
    assert found["score,none"] == ours.score
    assert found["in_domain,none"] == ours.in_domain
    assert 0 < ours.score < 1  # type: ignore[operator]

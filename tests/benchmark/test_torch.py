"""PyTorch: data sets that a loader collates, and modules as models."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from randpos.benchmark import EvaluationError, Layout, evaluate, examples, perfect_oracle
from randpos.benchmark import streams as module
from randpos.benchmark.torch import ExamplesDataset, TrainingBatches, torch_model
from randpos.errors import UserError

DATA = examples("stack_manipulation", [3, 6], count=10, seed=2)


@pytest.mark.parametrize("form", ["encoder", "decoder"])
def test_a_loader_collates_the_rows_of_all_lengths(form):
    width = 6 + 7 + (form == "decoder")
    batches = list(DataLoader(ExamplesDataset(DATA, form, "left"), batch_size=8))
    assert [len(batch["input_ids"]) for batch in batches] == [8, 8, 4]
    assert all(batch["labels"].dtype == torch.int64 for batch in batches)
    found = {name: torch.cat([batch[name] for batch in batches]) for name in batches[0]}
    layout = Layout(form, "left", width)
    blocks = [layout.columns(DATA.task, block) for block in DATA]
    for name, value in found.items():
        expected = np.concatenate([np.asarray(block[name]) for block in blocks])
        np.testing.assert_array_equal(value.numpy(), expected)


def test_workers_share_the_blocks(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 4)
    everything = [row["input_ids"].tolist() for row in ExamplesDataset(DATA)]
    shares = []
    for number in range(3):
        worker = type("Worker", (), {"id": number, "num_workers": 3})()
        monkeypatch.setattr("randpos.benchmark.torch.get_worker_info", lambda w=worker: w)
        shares.append([row["input_ids"].tolist() for row in ExamplesDataset(DATA)])
    assert all(shares)
    assert sorted(row for share in shares for row in share) == sorted(everything)
    with pytest.raises(UserError, match="num_workers=0"):
        next(iter(TrainingBatches("even_pairs")))


def test_training_batches_are_ready_for_a_loss():
    for _, batch in zip(range(5), TrainingBatches("reverse_string", [4, 7], 6), strict=False):
        n = int(batch["length"][0])
        assert batch["input_ids"].shape == (6, 2 * n)
        assert (batch["input_ids"][:, n:] == 2).all()
        assert torch.equal(batch["labels"][:, n:], batch["input_ids"][:, :n].flip(1))


class Solver(torch.nn.Module):
    """Puts the right class of Reverse String into its logits; wrong while it is in training."""

    def __init__(self, cut: bool = False) -> None:
        super().__init__()
        self.cut = cut

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        answers = torch.from_numpy(perfect_oracle("reverse_string")(tokens.numpy()).copy())
        logits = torch.nn.functional.one_hot(answers, 2).float()
        logits = -logits if self.training else logits
        inputs = torch.zeros(len(tokens), tokens.shape[1] - logits.shape[1], 2)
        return logits if self.cut else torch.cat([inputs, logits], dim=1)


@pytest.mark.parametrize("cut", [False, True])
def test_a_module_is_tested_in_evaluation_mode_and_left_as_it_was(cut):
    solver = Solver(cut).train()
    result = evaluate(torch_model(solver, "reverse_string"), "reverse_string", [4, 9], count=5)
    assert result.table()["accuracy"].to_list() == [1.0, 1.0]
    assert solver.training


BAD = {
    "shape": (lambda logits: logits[:, :-1], r"logits of shape \(5, 7, 2\).*\(5, 8, 2\)"),
    "nan": (lambda logits: logits * torch.nan, r"shape \(5, 8, 2\) with NaN"),
    "tuple": (lambda logits: (logits,), "returned a tuple"),
}


@pytest.mark.parametrize("kind", BAD)
def test_logits_that_cannot_be_read_are_a_sentence(kind):
    change, words = BAD[kind]
    broken = torch.nn.Module()
    broken.forward = lambda tokens: change(Solver()(tokens))  # type: ignore[method-assign]
    with pytest.raises(EvaluationError, match=rf"^At length 4 .*{words}.*") as caught:
        evaluate(torch_model(broken, "reverse_string"), "reverse_string", [4], count=5)
    assert "tokens of shape (5, 8)" in str(caught.value)

"""`torch.compile` works, with graphs that end where positions are drawn."""

from typing import Any

import pytest
import torch

from randpos.huggingface import randomize_positions
from tests.huggingface.tiny import fresh, tokens

# Dynamo looks at .grad of tensors between its graphs; the warning is its own.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")


def test_compiled_code_follows_the_change_and_its_removal():
    model, twin, ids = fresh("llama"), fresh("llama"), tokens(2, 8)
    compiled: Any = torch.compile(model, backend="eager")

    def run(model):
        return model(ids, use_cache=False).logits

    plain = run(model)
    assert torch.equal(run(compiled), plain)  # compiled before there were any hooks
    randomize_positions(twin, maximum=100, seed=0)
    expected = [run(twin), run(twin)]
    with randomize_positions(compiled, maximum=100, seed=0) as change:
        assert torch.equal(run(compiled), expected[0])
        assert torch.equal(run(compiled), expected[1])
        assert change.draws == 2
    assert torch.equal(run(compiled), plain)


def test_a_single_graph_is_refused_with_the_reason():
    model = fresh("llama")
    with randomize_positions(model, maximum=100):
        compiled = torch.compile(model, backend="eager", fullgraph=True)
        with pytest.raises(RuntimeError, match="fullgraph"):
            compiled(tokens(1, 4), use_cache=False)

"""The examples of the benchmark run at smoke size."""

import runpy
from pathlib import Path

import pytest

from randpos.store.tables import read_store

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_torch_example_learns_and_stores_its_result(capsys, tmp_path):
    run = runpy.run_path(str(EXAMPLES / "benchmark_torch.py"))["run"]
    result = run(
        "bucket_sort",
        steps=60,
        batch=16,
        longest=8,
        lengths=(1, 4, 8, 9, 12),
        count=20,
        store=str(tmp_path),
    )
    assert result.in_domain > 0.3  # chance is 0.2
    assert read_store(tmp_path).runs["encoding"].to_list() == ["external:torch-sincos"]
    assert "score (lengths beyond 8)" in capsys.readouterr().out


def test_the_huggingface_example_compares_positions(capsys):
    compare = runpy.run_path(str(EXAMPLES / "benchmark_huggingface.py"))["compare"]
    found = compare("reverse_string", steps=8, longest=6, lengths=(3, 9), count=40, maximum=32)
    assert set(found) == {"plain", "randomized"}
    for result in found.values():
        assert [a.length for a in result.accuracies] == [3, 9]
    assert found["plain"] != found["randomized"]
    assert "randomized positions" in capsys.readouterr().out


@pytest.mark.slow
def test_the_huggingface_example_learns():
    compare = runpy.run_path(str(EXAMPLES / "benchmark_huggingface.py"))["compare"]
    found = compare("reverse_string", steps=600, longest=5, lengths=(3, 5), count=64, maximum=32)
    assert found["plain"].in_domain > 0.9

"""Files of examples hold what the layout says, and a bad command is one sentence."""

import json

import polars as pl
import pytest

from randpos.benchmark import Layout, examples
from randpos.benchmark.formats import fitted
from randpos.cli.main import main

SIZES = ["--lengths", "3,5-6", "--count", "4", "--split", "test", "--padding", "left"]


@pytest.mark.parametrize("form", ["tokens", "text", "encoder", "decoder"])
def test_both_formats_hold_the_rows_of_the_layout(tmp_path, capsys, form):
    data = examples("stack_manipulation", [3, 5, 6], count=4, split="test")
    layout = fitted(Layout(form, "left"), data.task, data.lengths)
    expected = [row for block in data for row in layout.rows(data.task, block)]
    for format in ("jsonl", "parquet"):
        line = ["tasks", "export", "stack_manipulation", *SIZES, "--form", form]
        assert main([*line, "--format", format, "--out", str(tmp_path)]) == 0
    names = [f"stack_manipulation-test.{format}" for format in ("jsonl", "parquet")]
    assert capsys.readouterr().out.split() == [str(tmp_path / name) for name in names]
    assert sorted(path.name for path in tmp_path.iterdir()) == names  # and no temporary file
    assert [json.loads(row) for row in (tmp_path / names[0]).read_text().splitlines()] == expected
    assert pl.read_parquet(tmp_path / names[1]).to_dicts() == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["even_pair"], "did you mean 'even_pairs'"),
        (["even_pairs", "--lengths", "5-3"], "empty range '5-3'"),
        (["even_pairs", "--count", "0"], "count=0 must be at least 1"),
        (["even_pairs", "--format", "csv"], "csv"),
        (["even_pairs"], "exists; pass --overwrite"),
        (["parity_check", "--out", "even_pairs-train.jsonl"], "cannot be used"),
    ],
)
def test_a_bad_command_is_one_sentence(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "even_pairs-train.jsonl").write_text("mine")
    assert main(["tasks", "export", "--out", ".", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert (tmp_path / "even_pairs-train.jsonl").read_text() == "mine"

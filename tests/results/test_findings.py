"""The findings in words and tables, from stores whose results are known."""

import re
from pathlib import Path

from randpos.cli.main import main
from randpos.results.findings import findings
from randpos.store.tables import pack
from tests.results.stores import paper_records, run, scored


def test_the_paper_agrees_with_itself() -> None:
    text = findings(paper_records(), Path("store"))
    verdicts = re.findall(r"\| ([^|]+) \|$", text.split("## In short")[1].split("\n\n**")[1], re.M)
    assert len(verdicts) == 1 + 15 * 5  # with the heading
    assert "opposite sign" not in verdicts
    assert "clear in the paper only" not in verdicts
    for title in ("Scores of all encodings", "Without sorting", "Geometric attention"):
        assert f"## {title}" in text


def test_tasks_and_tables_that_were_not_run_are_left_out() -> None:
    both = [(run("bucket_sort", name), 0.5) for name in ("randomized-sincos", "unsorted-sincos")]
    half = [(run("even_pairs", "randomized-sincos"), 0.5)]
    text = findings(scored([*both, *half]), Path("store"))
    section = text.split("\n## Without sorting")[1].split("\n## ")[0]
    assert "Bucket Sort" in section
    assert "Even Pairs" not in section
    assert "## Geometric attention" not in text


def test_settings_are_ranked_by_their_scores() -> None:
    scores = {1024: 0.5, 2048: 0.7, 4096: 0.6}
    runs = [
        (run("missing_duplicate", "randomized-relative", maximum=maximum), score)
        for maximum, score in scores.items()
    ]
    text = findings(scored(runs), Path("store"))
    assert "L = 2,048 (70.0), L = 4,096 (60.0), L = 1,024 (50.0)" in text


def test_a_task_with_few_values_of_l_brings_no_empty_columns() -> None:
    whole = {maximum: "missing_duplicate" for maximum in (1024, 2048, 4096)}
    few = {300: "reverse_string", 2048: "reverse_string"}
    results = [
        (run(task, "randomized-relative", maximum=maximum), 0.5)
        for part in (whole, few)
        for maximum, task in part.items()
    ]
    section = findings(scored(results), Path("store")).split("\n## The largest position L")[1]
    heading = next(line for line in section.splitlines() if line.startswith("| Level"))
    assert re.findall(r"L = ([\d,]+)", heading) == ["1,024", "2,048", "4,096"]
    assert "Reverse String ·" not in section


def test_draws_per_layer_are_compared_with_those_per_batch() -> None:
    drawn = {
        ("positions", "per_batch"): 0.70,
        ("positions", "per_layer"): 0.83,
        ("released", "per_batch"): 0.75,
        ("released", "per_layer"): 0.71,
    }
    results = [
        (run("missing_duplicate", "randomized-relative", reading=reading, draw=draw), score)
        for (reading, draw), score in drawn.items()
    ]
    text = findings(scored(results), Path("store"))
    assert "+13.0 (positions), -4.0 (released)" in text


def test_the_budget_of_the_most_seeds_comes_first() -> None:
    pair = ("relative", "randomized-relative")
    few = [(run(task, name), 0.6) for task in ("even_pairs", "bucket_sort") for name in pair]
    many = [(run("even_pairs", n, seed, steps=70), 0.6) for n in pair for seed in range(3)]
    text = findings(scored([*few, *many]), Path("store"))
    assert text.index("**70 steps of") < text.index("**1,000 steps of")


def test_the_command_writes_markdown_or_a_page(tmp_path, capsys) -> None:
    pack(scored([(run("even_pairs", "rope"), 0.5)]), tmp_path / "store")
    for name in ("found.md", "found.html"):
        out = tmp_path / name
        assert main(["report", str(tmp_path / "store"), "--out", str(out), "--no-figures"]) == 0
        assert out.read_text().startswith("# What we found" if name.endswith("md") else "<!")
    assert main(["report", str(tmp_path / "nothing")]) == 2
    assert "there is no such folder" in capsys.readouterr().err

"""The findings in words and tables, from stores whose results are known."""

import json
import re
from pathlib import Path

import pytest

from randpos.cli.main import main
from randpos.results.findings import findings
from randpos.results.page.contents import overview
from randpos.results.scores import score_runs
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
    half = [(run("even_pairs", "randomized-sincos", seed), 0.5) for seed in (0, 1)]
    text = findings(scored([*both, *half]), Path("store"))
    section = text.split("\n## Without sorting")[1].split("\n## ")[0]
    assert "Bucket Sort" in section
    assert "Even Pairs" not in section
    assert "## Geometric attention" not in text


@pytest.mark.parametrize(
    ("seeds", "order"), [(3, ["2,048", "4,096", "1,024"]), (2, ["1,024", "2,048", "4,096"])]
)
def test_settings_are_ranked_by_their_scores_from_three_seeds_on(
    seeds: int, order: list[str]
) -> None:
    scores = {1024: 0.5, 2048: 0.7, 4096: 0.6}
    runs = [
        (run("missing_duplicate", "randomized-relative", seed, maximum=maximum), score)
        for maximum, score in scores.items()
        for seed in range(seeds)
    ]
    text = findings(scored(runs), Path("store"))
    line = next(line for line in text.splitlines() if line.startswith("- Missing Duplicate"))
    assert re.findall(r"L = ([\d,]+):", line) == order
    assert "2,048: 70.0 (100.0)" in line  # the score, and the accuracy in domain
    assert f"{seeds} seeds" in line


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


def test_an_encoding_with_few_readings_is_shown_beside_one_with_many() -> None:
    kinds = [("randomized-relative", r) for r in ("positions", "distances", "released")]
    kinds += [("randomized-alibi", reading) for reading in ("distances", "positions")]
    results = [
        (run("missing_duplicate", name, reading=reading, draw=draw), 0.5)
        for name, reading in kinds
        for draw in ("per_batch", "per_layer")
        if name == "randomized-relative" or draw == "per_batch"
    ]
    section = findings(scored(results), Path("store")).split("\n## What a random offset")[1]
    assert "Missing Duplicate · Randomized ALiBi" in section


def test_draws_per_layer_are_compared_with_those_per_batch() -> None:
    drawn = {
        ("positions", "per_batch"): (0.5, 0.6, 0.7),
        ("positions", "per_layer"): (0.6, 0.75, 0.7),
        ("released", "per_batch"): (0.75, 0.5, 0.5),
        ("released", "per_layer"): (0.71, 0.46, 0.46),
    }

    def text(seeds: int) -> str:
        results = [
            (run("missing_duplicate", "randomized-relative", seed, reading=reading, draw=draw), x)
            for (reading, draw), scores in drawn.items()
            for seed, x in enumerate(scores[:seeds])
        ]
        return findings(scored(results), Path("store"))

    # Gaps of 10, 15 and 0: sd 7.64, t(2) = 4.303, half of the interval 18.97.
    assert "+8.3 [-10.6, +27.3] (positions, 3 seeds), -4.0 [-4.0, -4.0] (released" in text(3)
    assert "+12.5 (positions, 2 seeds), -4.0 (released" in text(2)


def test_the_budget_of_the_most_seeds_comes_first() -> None:
    pair = ("relative", "randomized-relative")
    few = [(run(task, name), 0.6) for task in ("even_pairs", "bucket_sort") for name in pair]
    many = [(run("even_pairs", n, seed, steps=70), 0.6) for n in pair for seed in range(3)]
    text = findings(scored([*few, *many]), Path("store"))
    assert text.index("**70 steps of") < text.index("**1,000 steps of")


def test_the_versions_of_the_numerics_are_counted() -> None:
    results = [
        (run("even_pairs", "rope", seed, environment=json.dumps(environment)), 0.5)
        for seed, environment in enumerate([{}, {"numerics": 10}, {"numerics": 9}, {"numerics": 9}])
    ]
    results.append((run("even_pairs", "rope", 9, status="diverged", environment="{}"), 0.5))
    store = scored([*results, (run("even_pairs", "external:Mine", environment="{}"), 0.5)])
    for text in (
        findings(store, Path("store")),
        overview(score_runs(store))["numerics"],
    ):
        counts = re.findall(r"(\d+) runs? under version (\d+)", text)
        assert counts == [("1", "1"), ("2", "9"), ("1", "10")]


def test_the_command_writes_markdown_or_a_page(tmp_path, capsys) -> None:
    pack(scored([(run("even_pairs", "rope"), 0.5)]), tmp_path / "store")
    for name in ("found.md", "found.html"):
        out = tmp_path / name
        assert main(["report", str(tmp_path / "store"), "--out", str(out), "--no-figures"]) == 0
        assert out.read_text().startswith("# What we found" if name.endswith("md") else "<!")
    assert main(["report", str(tmp_path / "nothing")]) == 2
    assert "there is no such folder" in capsys.readouterr().err

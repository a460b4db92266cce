"""The findings say in words what the tables say in numbers."""

from pathlib import Path

import pytest

from randpos.cli.main import main
from randpos.results.findings import beside, findings, verdicts
from randpos.results.tables.make import make_table
from randpos.store.tables import pack
from tests.results.stores import paper_records, run, scored


def words(*scores: tuple[str, str, float]) -> str:
    store = scored([(run(task, encoding), score) for task, encoding, score in scores])
    return "\n".join(verdicts(make_table(store, "comparison")))


@pytest.mark.parametrize(
    ("task", "plain", "randomized", "verdict"),
    [
        # The paper: 51.1 and 91.4 in the mean.
        ("missing_duplicate", 0.5, 0.7, "agrees in sign"),
        ("missing_duplicate", 0.7, 0.5, "opposite sign"),
        ("missing_duplicate", 0.5, 0.54, "no clear difference at our budget"),
        # The paper: 50.4 and 51.4.
        ("parity_check", 0.5, 0.52, "no clear difference in either"),
        ("parity_check", 0.5, 0.6, "clear here, not in the paper"),
    ],
)
def test_a_difference_is_judged_by_its_sign_and_the_paper_s(task, plain, randomized, verdict):
    text = words((task, "relative", plain), (task, "randomized-relative", randomized))
    assert f"{verdict}: **1**" in text
    assert f"| {100 * (randomized - plain):+.1f} |" in text


def test_one_half_of_a_pair_says_nothing():
    assert words(("missing_duplicate", "relative", 0.5)).startswith("No randomized encoding")


def test_the_paper_agrees_with_itself():
    text = findings(paper_records(), Path("store"))
    assert "opposite" not in text
    assert "at our budget: **" not in text
    for title in ("Scores of all encodings", "Without sorting", "Geometric attention"):
        assert f"## {title}" in text


def test_what_was_not_run_has_no_section():
    text = findings(scored([(run("even_pairs", "rope"), 0.5)]), Path("store"))
    assert "## Geometric attention" not in text
    assert "Nothing here is at the paper's budget" in text


def test_a_side_experiment_is_told_best_first():
    scores = {1024: 0.5, 2048: 0.7, 4096: 0.6}
    store = scored(
        [
            (run("missing_duplicate", "randomized-relative", maximum=maximum), score)
            for maximum, score in scores.items()
        ]
    )
    text = findings(store, Path("store"))
    assert "**The largest position L**, best score first:" in text
    assert "L = 2,048 (70.0), L = 4,096 (60.0), L = 1,024 (50.0)" in text


def test_readings_are_told_in_words():
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
    text = findings(scored([*results, (run("missing_duplicate", "relative"), 0.5)]), Path("store"))
    assert "score 70.0 to 83.0, the plain encoding 50.0. " in text
    assert "per batch changes the score by +13.0 (positions), -4.0 (released). " in text
    assert "standard deviation over seeds is 9.8 in this cell" in text


def test_a_task_with_half_of_a_side_experiment_is_left_out_of_it():
    both = [(run("bucket_sort", name), 0.5) for name in ("randomized-sincos", "unsorted-sincos")]
    half = [(run("even_pairs", "randomized-sincos"), 0.5)]
    text = findings(scored([*both, *half]), Path("store"))
    section = text.split("\n## Without sorting")[1].split("\n## ")[0]
    assert "Bucket Sort" in section
    assert "Even Pairs" not in section


def test_scores_stand_before_the_paper_s():
    store = scored([(run("even_pairs", "relative"), 0.64)])
    table = beside(make_table(store, "table1"), ["none", "relative"])
    assert table.splitlines() == [
        "| task | None | Relative |",
        "|---|---:|---:|",
        "| Even Pairs | – (50.4) | 64.0 (96.4) |",
    ]


def test_the_command_writes_markdown_or_a_page(tmp_path, capsys):
    pack(scored([(run("even_pairs", "rope"), 0.5)]), tmp_path / "store")
    for name in ("found.md", "found.html"):
        out = tmp_path / name
        assert main(["report", str(tmp_path / "store"), "--out", str(out), "--no-figures"]) == 0
        assert out.read_text().startswith("# What we found" if name.endswith("md") else "<!")
    assert main(["report", str(tmp_path / "nothing")]) == 2
    assert "there is no such folder" in capsys.readouterr().err

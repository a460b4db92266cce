"""The page as a file: whole, safe, small, and made in time."""

import base64
import hashlib
import json
import re
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from randpos.results import budgets, make_table, score_runs, write_page
from randpos.results.comparison import published_difference
from randpos.results.inlining import embedded
from randpos.results.page.curves import learning_curve, mean_curves, over_length
from randpos.results.page.headline import headline
from randpos.results.page.sections import Picture
from randpos.results.page.write import make_page
from tests.results.stores import accuracies_of, many_records, records, run, scored

HOSTILE = "</script><script>alert(1)</script><!--"


def data_of(page: str, name: str) -> Any:
    found = re.search(rf'<script type="application/[\w-]+" id="{name}">(.*?)</script>', page, re.S)
    assert found is not None
    if name == "details":
        return json.loads(zlib.decompress(base64.b64decode(found[1])))
    return json.loads(found[1])


@pytest.mark.slow
def test_six_thousand_runs_make_a_page_in_time(tmp_path: Path) -> None:
    store = many_records()
    assert (store.runs.height, store.accuracies.height) == (5850, 2_925_000)
    start = time.process_time()  # of all threads; how busy the machine is does not matter
    write_page(store, tmp_path / "page.html")
    took, size = time.process_time() - start, (tmp_path / "page.html").stat().st_size
    print(f"{took:.1f} s, {size / 2**20:.1f} MiB")
    assert took < 60
    assert size < 15 * 2**20
    runs = data_of((tmp_path / "page.html").read_text(), "details")
    assert len(runs["run"]) == 5850
    expected = dict(score_runs(store).select("run", "score").iter_rows())
    assert runs["score"] == pytest.approx([expected[name] for name in runs["run"]], abs=1e-6)


def test_numbers_on_the_page_are_those_of_the_tables() -> None:
    store = scored([(run("reverse_string", "rope", seed), 0.5 + seed / 10) for seed in range(3)])
    shown = data_of(make_page(store), "summary")["tables"]
    for name in ("table1", "table-means", "comparison", "running-times"):
        table, (data,) = make_table(store, name), shown[name]
        for row, line in zip(table.rows, data["cells"], strict=True):
            for column, cell in zip(table.columns, line, strict=True):
                for view in table.views():
                    text = cell.get(view, ["–"])[0]
                    assert text.replace("−", "-") == table.text(row, column, view)


def test_the_budget_with_intervals_is_shown_before_that_of_more_cells() -> None:
    many = [run(task, "rope", steps=9000) for task in ("even_pairs", "bucket_sort", "odds_first")]
    pair = [run("even_pairs", e, s) for e in ("rope", "randomized-rope") for s in range(3)]
    page = data_of(
        make_page(scored([(row, 0.5 + row["seed"] / 9) for row in many + pair])), "summary"
    )
    assert [text.partition(" ")[0] for text in page["budgets"]] == ["1,000", "9,000"]
    page = data_of(make_page(scored([(row, 0.5) for row in many + pair[::3]])), "summary")
    assert [text.partition(" ")[0] for text in page["budgets"]] == ["9,000", "1,000"]


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_the_headline_names_its_seeds_and_states_a_sign_from_three_on(seeds: int) -> None:
    scores = {"rope": 0.5, "randomized-rope": 0.87}
    store = scored(
        [(run("even_pairs", name, s), v) for name, v in scores.items() for s in range(seeds)]
    )
    table = score_runs(store)
    words = headline(table, budgets(table)[0])[0]
    assert re.search(r"37\.0 (\[37\.0, 37\.0\] )?points", words)
    assert re.search(rf"over {seeds} seeds?\b", words)
    assert bool(re.search(r"positions (gain|lose)", words)) == (seeds == 3)


HEADLINE = {
    "even_pairs": ([0.5, 0.6, 0.55], [0.8, 0.85, 0.9]),
    "missing_duplicate": ([0.6, 0.6, 0.6], [0.7, 0.75, 0.72]),
}
"""Scores of relative and randomized relative by task, three seeds each."""


def words_of(
    scores: dict[str, tuple[list[float], list[float]]], error: float | None, *more: str
) -> str:
    """The headline of a store; the tasks of `more` were learnt by no side, with a large gap."""
    runs, rows = [], []
    unlearnt = dict.fromkeys(more, ([0.0] * 3, [0.9] * 3))
    for task, sides in (scores | unlearnt).items():
        for name, side in zip(("relative", "randomized-relative"), sides, strict=True):
            for seed, score in enumerate(side):
                runs.append(run(task, name, seed))
                way = {} if error is None else {"draws": 3, "error": error}
                for row in accuracies_of(runs[-1], score, **way):
                    inside = task in more and row["length"] <= 40
                    rows.append(row | ({"accuracy": 0.5} if inside else {}))
    # An encoding whose plain form was not run.
    runs.append(run("even_pairs", "randomized-rope"))
    rows += accuracies_of(runs[-1], 1.0)
    table = score_runs(records(runs, rows))
    return headline(table, budgets(table)[0])[0]


def test_the_headline_is_the_paired_mean_over_pairs_that_were_learnt() -> None:
    words = words_of(HEADLINE, None, "parity_check")
    by_seed = [100 * (a + b) / 2 for a, b in ((0.3, 0.1), (0.25, 0.15), (0.35, 0.12))]
    low, high = stats.ttest_1samp(by_seed, 0).confidence_interval(0.95)
    mean = sum(by_seed) / 3
    assert f"positions gain {mean:.1f} [{low:.1f}, {high:.1f}] points" in words
    assert "the mean over 2 pairs of encodings on 2 tasks and over 3 seeds" in words
    assert "Left out: 1 pair learnt by neither side." in words
    paper = [published_difference(task, ["randomized-relative"], ["relative"]) for task in HEADLINE]
    assert f"The paper has {sum(x.value for x in paper if x) / 2:+.1f}." in words


def test_the_headline_is_no_gain_unless_its_interval_with_the_tests_error_excludes_zero() -> None:
    assert "positions gain" in words_of(HEADLINE, 0.01)
    words = words_of(HEADLINE, 0.3)  # 30 points at each of two lengths, for both sides
    assert "not clear" in words
    assert "gain" not in words
    worse = {task: (ours, plain) for task, (plain, ours) in HEADLINE.items()}
    assert "positions lose 21.2" in words_of(worse, None)


def test_curves_are_means_over_the_seeds_that_all_encodings_have() -> None:
    # A third and a fourth seed of rope only, which were lucky.
    kinds = {"none": [0.5, 0.7], "rope": [0.6, 0.6, 0.9, 0.9]}
    store = scored(
        [(run("even_pairs", e, s), v) for e, values in kinds.items() for s, v in enumerate(values)]
    )
    (panel,) = mean_curves(store, score_runs(store))["lengths"]
    ends = {line["encoding"]: line["y"][-1] for line in panel["series"]}
    assert ends == {"none": 600, "rope": 600}
    assert panel["over"] == "seeds: 2"


def test_names_from_the_store_cannot_end_the_data() -> None:
    store = scored([(run(HOSTILE, "none", reason=HOSTILE), 0.5)])
    page = make_page(store, {HOSTILE: Picture(b"<svg><script>alert(2)</script></svg>", HOSTILE)})
    assert "<script>alert(" not in page
    assert page.count("<script") == 5  # three of data, two of code
    assert data_of(page, "details")["reason"] == [HOSTILE]


def test_embedded_data_reads_back() -> None:
    data = {"<>&'\"\u2028\ud800": ["</script>", 1.5, None]}
    assert json.loads(embedded(data)) == data
    assert not set("<>&\u2028") & set(embedded(data))


def test_the_policy_allows_the_pages_own_scripts_only() -> None:
    page = make_page(scored([]))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy[1]
    for kind, tag in (("script-src", "script"), ("style-src", "style")):
        parts = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        hashes = [base64.b64encode(hashlib.sha256(p.encode()).digest()).decode() for p in parts]
        assert rules[kind].split() == [f"'sha256-{digest}'" for digest in hashes]
    assert rules["connect-src"] == "'none'"


def test_the_page_asks_for_nothing() -> None:
    page = make_page(scored([]))
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.S)
    assert not re.findall(r"(?:src|href)=\"(?!#|data:)", markup)


def test_figures_are_pictures_never_markup() -> None:
    page = make_page(
        scored([]), {"A & B": Picture(b"<svg onload='x'/>", "x < y"), "C": Picture(b"\x89PNG...")}
    )
    assert '<img alt="A &amp; B" src="data:image/svg+xml;base64,' in page
    assert '<img alt="C" src="data:image/png;base64,' in page
    assert "x &lt; y</figcaption>" in page
    assert "onload" not in page.partition("<main")[2].partition("<script")[0]


def test_curves_keep_the_ends_and_the_edge_of_training() -> None:
    experiment = run("even_pairs", "none", test_length=400)
    way = {"run": experiment["run"], "whole": 0.0, "batch": 500, "seed": 0}
    rows = [{"length": n, "accuracy": 1 - n / 1000} | way for n in range(1, 401)]
    other = [row | {"batch": 2, "accuracy": 0.0} for row in rows]
    store = records([experiment], rows + other)
    ((_, lengths, accuracies),) = over_length(store, score_runs(store), 60).iter_rows()
    assert 58 <= len(lengths) <= 64
    assert {1, 40, 41, 400} <= set(lengths)
    assert accuracies == [round(1000 - n) for n in lengths]
    # A curve with few points is kept whole.
    whole = over_length(store, score_runs(store), 500)["length"].to_list()[0]
    assert whole == list(range(1, 401))


def test_long_learning_curves_are_thinned_but_keep_their_end() -> None:
    curve = [[step, 1.0 / step, 0.5] for step in range(1, 1001)]
    thin = learning_curve(json.dumps(curve))
    assert len(thin) <= 61
    assert [point[0] for point in thin][-1] == 1000
    assert [point[0] for point in thin] == sorted(set(range(1000, 0, -17)))

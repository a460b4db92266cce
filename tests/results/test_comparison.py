"""Randomized against plain, seed by seed, against sums done by hand."""

import numpy as np
import pytest
from scipy import stats

from randpos.results.comparison import BEST, Comparison, compare, published_difference
from randpos.results.scores import score_runs
from tests.results.stores import accuracies_of, records, run, scored


def comparisons(scores: dict[str, list[float]], task: str = "even_pairs") -> dict[str, Comparison]:
    results = [
        (run(task, name, seed), value)
        for name, values in scores.items()
        for seed, value in enumerate(values)
    ]
    return {pair.pair: pair for pair in compare(score_runs(scored(results)))}


def test_differences_are_paired_by_seed() -> None:
    plain, gaps = [0.2, 0.5, 0.8], np.array([0.1, 0.12, 0.08])
    # Unpaired, such a spread would hide the difference.
    found = comparisons({"relative": plain, "randomized-relative": list(plain + gaps)})["relative"]
    assert found.seeds == (0, 1, 2)
    expected = stats.ttest_1samp(100 * gaps, 0).confidence_interval(0.95)
    assert found.ours.value == pytest.approx(10.0)
    assert found.ours.interval == pytest.approx((expected.low, expected.high))
    assert found.in_domain == (100.0, 100.0)


def test_a_difference_is_as_uncertain_as_the_tests_that_its_seeds_share() -> None:
    runs, rows = [], []
    for name, score in (("randomized-relative", 0.65), ("relative", 0.6)):
        for seed in range(3):
            runs.append(run("missing_duplicate", name, seed))
            error = 0.04 if name == "relative" else 0.03
            rows += accuracies_of(runs[-1], score + seed / 1000, draws=3, error=error)
    found = next(compare(score_runs(records(runs, rows))))
    assert found.ours.interval is not None
    # Each gap is 5 points. Two tested lengths weigh one half each of the score, about.
    half = stats.norm.ppf(0.975) * 5 / 2**0.5
    assert found.ours.interval == pytest.approx((5 - half, 5 + half), rel=1e-3)
    assert found.verdict == "clear in the paper only"  # By its seeds alone it would be clear here.


def test_best_is_compared_with_best_on_both_sides_over_the_encodings_that_ran() -> None:
    ran = ["none", "sincos", "relative", "randomized-sincos", "randomized-relative"]
    scores = [[0.5, 0.5], [0.2, 0.2], [0.6, 0.8], [0.7, 0.7], [0.9, 0.9]]
    found = comparisons(dict(zip(ran, scores, strict=True)), "cycle_navigation")
    best = found[BEST]
    assert (best.randomized, best.plain) == ("randomized-relative", "relative")
    assert best.ours.value == pytest.approx(20.0)
    assert best.paper is not None
    # The best of these five encodings in Table 4; randomized RoPE has 52.9.
    assert best.paper.value == pytest.approx(45.9 - 33.9)


def test_only_seeds_and_rates_that_both_have_are_compared() -> None:
    results = [
        (run("even_pairs", "rope", 0, 1e-4), 0.4),
        (run("even_pairs", "rope", 1, 1e-4), 0.6),
        (run("even_pairs", "rope", 1, 5e-4), 0.9),  # a rate that the other side lacks
        (run("even_pairs", "randomized-rope", 1, 1e-4), 0.8),
        (run("even_pairs", "randomized-rope", 2, 1e-4), 0.7),
    ]
    found = {pair.pair: pair for pair in compare(score_runs(scored(results)))}["rope"]
    assert found.seeds == (1,)
    assert found.ours.value == pytest.approx(20.0)
    assert found.ours.interval is None


def test_sides_that_share_no_seed_are_not_compared() -> None:
    results = [(run("even_pairs", "rope", 0), 0.4), (run("even_pairs", "randomized-rope", 1), 0.8)]
    assert list(compare(score_runs(scored(results)))) == []


def test_the_papers_side_is_judged_by_its_own_standard_deviations() -> None:
    # 51.1 ± 0.9 and 91.4 ± 9.8 in Table 4, ten seeds each.
    found = published_difference("missing_duplicate", ["randomized-relative"], ["relative"])
    assert found is not None
    assert found.interval is not None
    expected = stats.ttest_ind_from_stats(91.4, 9.8, 10, 51.1, 0.9, 10, equal_var=False)
    assert (found.interval.sign, expected.pvalue < 0.05) == (1, True)
    # A difference of 0.3 points with a spread of 1.6 and 0.4 is not clear.
    unclear = published_difference("missing_duplicate", ["randomized-sincos"], ["sincos"])
    assert unclear is not None
    assert unclear.interval is not None
    assert unclear.interval.sign == 0
    assert published_difference("mine:Task", ["randomized-rope"], ["rope"]) is None


@pytest.mark.parametrize(
    ("task", "gaps", "verdict"),
    [
        ("missing_duplicate", [0.2, 0.25, 0.3], "same sign as in the paper"),
        ("missing_duplicate", [-0.2, -0.25, -0.3], "opposite sign"),
        ("missing_duplicate", [0.2, -0.2, 0.1], "clear in the paper only"),
        ("missing_duplicate", [0.2, 0.25], "fewer than 3 seeds"),
        ("mine:Task", [0.2, 0.25, 0.3], "not in the paper's tables"),
    ],
)
def test_a_verdict_compares_both_intervals(task: str, gaps: list[float], verdict: str) -> None:
    plain = [0.6] * len(gaps)
    ours = [p + gap for p, gap in zip(plain, gaps, strict=True)]
    found = comparisons({"relative": plain, "randomized-relative": ours}, task)
    assert found["relative"].verdict == verdict


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [([0.2, 0.25, 0.3], "clear here only"), ([0.2, -0.2, 0.1], "clear in neither")],
)
def test_a_verdict_where_the_paper_has_no_clear_difference(gaps: list[float], verdict: str) -> None:
    ours = [0.6 + gap for gap in gaps]
    found = comparisons({"sincos": [0.6] * 3, "randomized-sincos": ours}, "missing_duplicate")
    assert found["sincos"].verdict == verdict


@pytest.mark.parametrize(
    ("randomized", "plain", "verdict"),
    [
        (0.5, 0.5, "learnt by neither"),
        (0.9, 0.5, "learnt by the randomized encoding only"),
        (0.5, 0.9, "learnt by the plain encoding only"),
    ],
)
def test_a_side_at_chance_in_domain_gets_no_verdict(
    randomized: float, plain: float, verdict: str
) -> None:
    runs, rows = [], []
    for name, level in (("randomized-relative", randomized), ("relative", plain)):
        for seed in range(3):
            runs.append(run("missing_duplicate", name, seed))
            for row in accuracies_of(runs[-1], 0.5 + 0.1 * (level == randomized)):
                inside = row["length"] <= 40
                rows.append(row | ({"accuracy": level} if inside else {}))
    (found, _) = compare(score_runs(records(runs, rows)))
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("levels", "verdict"),
    [
        ((0.9, 0.5, 0.5), "learnt by the plain encoding only"),
        ((0.9, 0.9, 0.5), "clear in the paper only"),
    ],
)
def test_most_seeds_must_have_learnt_the_task(levels: tuple[float, ...], verdict: str) -> None:
    runs, rows = [], []
    for name, values in (("randomized-relative", levels), ("relative", (0.9,) * 3)):
        for seed, level in enumerate(values):
            runs.append(run("missing_duplicate", name, seed))
            for row in accuracies_of(runs[-1], 0.6 + 0.1 * seed * (name != "relative")):
                rows.append(row | ({"accuracy": level} if row["length"] <= 40 else {}))
    (found, _) = compare(score_runs(records(runs, rows)))
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("constant", "verdict"),
    [
        ({0, 1, 2}, "opposite sign"),
        ({0, 1, 3, 4}, "learnt by neither"),
        ({0, 1, 3}, "clear in the paper only"),
    ],
)
def test_constant_answers_of_both_sides_are_no_result(constant: set[int], verdict: str) -> None:
    """The first three runs are randomized. One side that fails beyond training is a result."""
    runs, rows = [], []
    other = run("missing_duplicate", "none")  # which has the same constant answers
    for name in ("randomized-relative", "relative"):
        runs += [run("missing_duplicate", name, seed) for seed in range(3)]
    for number, experiment in enumerate([*runs, other]):
        same = number in constant or experiment is other
        shift = 0.0 if same else 0.01 * (number + 1)
        first = accuracies_of(experiment, 0.5)
        rows += first[:2]  # perfect up to N
        guesses = {41: 0.47, 200: 0.52, 350: 0.55, 500: 0.5}
        rows += [{**first[0], "length": n, "accuracy": a + shift} for n, a in guesses.items()]
    found = {pair.pair: pair for pair in compare(score_runs(records([*runs, other], rows)))}
    assert found["relative"].verdict == verdict

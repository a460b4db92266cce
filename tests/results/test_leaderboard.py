"""Scores of a leaderboard, worked out by hand."""

import pytest

from randpos.results.leaderboard import leaderboard
from tests.results.stores import run, scored


def test_models_are_compared_at_the_rates_that_all_have_with_the_most_seeds() -> None:
    kinds = {
        ("none", 3e-4): [0.6] * 3,
        ("none", 1e-4): [0.9],  # one lucky seed
        ("rope", 3e-4): [0.5] * 3,
        ("rope", 1e-4): [0.5],
        ("rope", 5e-4): [0.95] * 3,  # a rate that none lacks
        ("external:Mine", 1.0): [0.4],
    }
    results = [
        (run("even_pairs", name, seed, rate), score)
        for (name, rate), scores in kinds.items()
        for seed, score in enumerate(scores)
    ]
    board, _ = leaderboard(scored(results))
    assert board["encoding"].to_list() == ["none", "rope", "external:Mine"]
    assert board["score"].to_list() == pytest.approx([0.6, 0.5, 0.4])
    assert board["seeds"].to_list() == [3, 3, 1]


def test_the_positions_of_another_budget_leave_no_task_out() -> None:
    name = "randomized-rope"
    shown = [(run("even_pairs", name, s, steps=9, maximum=512), 0.7) for s in range(3)]
    # At another budget more encodings have another L.
    kinds = (name, "randomized-sincos")
    board, _ = leaderboard(scored([*shown, *((run("even_pairs", e), 0.5) for e in kinds)]))
    assert board.select("encoding", "tasks", "seeds").rows() == [(name, 1, 3)]

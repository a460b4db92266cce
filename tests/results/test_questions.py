"""The open questions: which runs are compared, their means, and the entropy of attention."""

import dataclasses
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest

from randpos import Architecture, Experiment, PositionOptions, Schedule, preset
from randpos.nn.model import Trace
from randpos.results.figures.questions import (
    choose_maximum_of_store,
    draws_of_store,
    peaked,
)
from randpos.results.inspect.attention import attention_entropy, mean_entropies
from randpos.results.inspect.models import Trained
from randpos.results.questions import draw_runs, maximum_runs, scale_runs
from randpos.results.scores import counted_accuracies, score_runs
from randpos.results.tables.questions import choose_maximum, draws, other_tasks
from randpos.results.tables.questions import peaked as peaked_table
from randpos.settings import AttentionScale, Draw
from randpos.setup import choose_maximum as with_maximum
from randpos.training.tested_lengths import lengths_to_test
from tests.experiments import random_model, tiny
from tests.results.figures.synthetic import join, records

BASE = dataclasses.replace(preset("laptop"), task="missing_duplicate")
STORE = Path("none")


def run(seed: int, *, positions: PositionOptions | None = None, **changes) -> Experiment:
    where = positions or PositionOptions(maximum=402)
    return dataclasses.replace(BASE, seed=seed, positions=where, **changes)


def flat(experiment: Experiment, accuracy: float):
    """A run with one accuracy at all lengths."""
    return experiment, [(n, accuracy) for n in lengths_to_test(experiment)], 1.0


def sweep_over_l():
    """Three L and two seeds without dropout, two L with it, one L with a seed of its own."""
    rows = []
    for seed in (0, 1):
        for maximum, score in ((201, 0.6), (402, 0.8), (8040, 0.7)):
            where = PositionOptions(maximum=maximum)
            rows.append(flat(run(seed, positions=where), score + 0.1 * seed))
            if maximum != 201:
                dropped = run(seed, positions=where, model=Architecture(dropout=0.1))
                rows.append(flat(dropped, score - 0.2 + 0.1 * seed))
    rows.append(flat(run(7, positions=PositionOptions(maximum=402)), 0.1))
    return records(rows)


def test_runs_that_differ_in_l_and_dropout_are_compared_over_the_seeds_of_all():
    runs = maximum_runs(score_runs(sweep_over_l())).runs
    assert set(runs["seed"]) == {0, 1}
    assert sorted(set(runs["ratio"])) == [1.0, 2.0, 40.0]
    assert set(runs.select("ratio", "dropout").iter_rows()) == {
        *((1.0, 0.0), (2.0, 0.0), (40.0, 0.0)),
        *((2.0, 0.1), (40.0, 0.1)),
    }


def test_the_table_of_l_has_the_means_over_seeds():
    table = choose_maximum(score_runs(sweep_over_l()))
    found = {
        (row.key.split("\n")[-1], column.key): table.cell(row, column).ours
        for row in table.rows
        for column in table.columns
    }
    means = {key: value.value for key, value in found.items() if value}
    assert means == pytest.approx(
        {
            ("0", "1"): 65.0,
            ("0", "2"): 85.0,
            ("0", "40"): 75.0,
            ("0.1", "2"): 65.0,
            ("0.1", "40"): 55.0,
        }
    )
    assert {column.key for column in table.columns} >= {"1.25", "4", "8", "16"}


def test_l_is_compared_with_the_sequence_that_thinking_makes_longer():
    """At n = 200 an input of 200, as many blanks and one answer."""
    runs = [flat(run(0, positions=PositionOptions(maximum=m), thinking=1), 0.5) for m in (401, 802)]
    found = maximum_runs(score_runs(records(runs))).runs
    assert sorted(found["ratio"]) == [1.0, 2.0]


def test_other_tasks_are_compared_each_within_its_own_lengths():
    short = {"lengths": Schedule("uniform", 22), "test_length": 48}
    rows = [
        flat(run(seed, task=task, encoding=encoding, **changes), score + 0.1 * seed)
        for task, changes, scores in (("scan", short, (0.2, 0.4)), ("listops", {}, (0.1, 0.3)))
        for encoding, score in zip(("rope", "randomized-rope"), scores, strict=True)
        for seed in (0, 1)
    ]
    table = other_tasks(score_runs(records([*rows, flat(run(0), 0.9)])))
    found = {
        (row.key, column.key): table.text(row, column, "ours")
        for row in table.rows
        for column in table.columns
    }
    assert found == {
        ("scan", "rope"): "25.0±7.1",
        ("scan", "randomized-rope"): "45.0±7.1",
        ("listops", "rope"): "15.0±7.1",
        ("listops", "randomized-rope"): "35.0±7.1",
    }
    assert any(note.startswith("Scan: Budget:") and "N=22, M=48" in note for note in table.notes)
    assert any(note.startswith("Listops: Budget:") and "M=200" in note for note in table.notes)


def line(figure, name: str) -> np.ndarray:
    (found,) = [x for axes in figure.axes for x in axes.lines if x.get_gid() == name]
    return found.get_xydata()


def test_the_figure_of_l_draws_the_means_over_the_ratio():
    figure = choose_maximum_of_store(sweep_over_l(), STORE)
    expected = [[1.0, 0.65], [2.0, 0.85], [40.0, 0.75]]
    np.testing.assert_allclose(line(figure, "randomized-relative 0"), expected)
    inside = line(figure, "randomized-relative 0 in-domain")
    np.testing.assert_allclose(inside, expected)  # made-up runs are as good at all lengths
    expected = [[2.0, 0.65], [40.0, 0.55]]
    np.testing.assert_allclose(line(figure, "randomized-relative 0.1"), expected)


def unlisted(figure) -> list[str]:
    """The lines of a figure that no entry of its legend looks like."""

    def looks(line):
        face = line.get_markerfacecolor() if line.get_marker() not in ("None", "") else ""
        return (
            line.get_color(),
            line.get_linestyle(),
            line.get_linewidth(),
            line.get_marker(),
            str(face),
        )

    (legend,) = figure.legends
    listed = {looks(line) for line in legend.get_lines()}
    lines = [x for axes in figure.axes for x in axes.lines if x.get_gid() != "runs"]
    return [str(x.get_gid()) for x in lines if looks(x) not in listed]


def test_the_legend_of_the_figure_of_l_lists_all_that_is_drawn():
    figure = choose_maximum_of_store(sweep_over_l(), STORE)
    assert unlisted(figure) == []
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "Randomized Relative, dropout 0.1: up to N" in words
    assert {"Score of one run", "Chance"} < set(words)


def sweep_over_draws():
    parts = []
    ways: list[tuple[Draw, float]] = [("per_batch", 0.1), ("per_example", 0.2)]
    for way, rise in ways:
        for seed in (0, 1, 2):
            curve = [[100.0, 0.6, 0.5 + 0.05 * seed], [200.0, 0.5, 0.5 + rise + 0.05 * seed]]
            where = PositionOptions(maximum=402, draw=way)
            parts.append(records([flat(run(seed, positions=where), 0.7 + rise)], curve=curve))
    return join(*parts)


def test_draws_are_compared_in_tests_and_in_training():
    store = sweep_over_draws()
    table, (row,) = draws(score_runs(store)), draws(score_runs(store)).rows
    found = {c.key: table.cell(row, c).ours for c in table.columns}
    assert {key: value.value for key, value in found.items() if value} == pytest.approx(
        {
            "per_batch": 80.0,
            "per_example": 90.0,
            "per_batch training": 60.0,
            "per_example training": 65.0,
        }
    )
    assert draw_runs(score_runs(store)).runs.height == 6
    figure = draws_of_store(store, STORE)
    assert unlisted(figure) == []
    drawn = line(figure, "randomized-relative per_example")
    np.testing.assert_allclose(drawn, [[100, 0.55], [200, 0.75]])


def sweep_over_scales():
    scores: dict[AttentionScale, float] = {"constant": 0.5, "log": 0.7}
    rows = [
        flat(
            run(seed, encoding="relative", model=Architecture(dropout=0.0, attention_scale=scale)),
            score,
        )
        for scale, score in scores.items()
        for seed in (0, 1)
    ]
    return records([*rows, flat(run(0), 0.9)])


def test_readings_and_maxima_are_not_seeds_of_one_draw():
    ways = [
        PositionOptions(maximum=maximum, reading=reading, draw=draw)
        for maximum in (402, 804)
        for reading in ("positions", "distances")
        for draw in ("per_batch", "per_layer")
    ]
    runs = [flat(run(0, positions=where, encoding="randomized-relative"), 0.5) for where in ways]
    kept = draw_runs(score_runs(records(runs))).runs
    assert kept["reading"].unique().to_list() == ["positions"]
    assert kept["maximum"].n_unique() == 1
    assert sorted(kept["draw"]) == ["per_batch", "per_layer"]


def test_scales_of_attention_are_compared_encoding_by_encoding():
    store = sweep_over_scales()
    runs = scale_runs(score_runs(store)).runs
    assert set(runs["encoding"]) == {"relative"}
    table, (row,) = peaked_table(score_runs(store)), peaked_table(score_runs(store)).rows
    values = [table.cell(row, column).ours for column in table.columns]
    assert [value.value for value in values if value] == pytest.approx([50.0, 70.0])
    entropies = {
        r: ([20, 40, 200], np.array([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]])) for r in runs["run"]
    }
    figure = peaked(runs, counted_accuracies(store, runs), entropies, [])
    assert unlisted(figure) == []
    lower = [x for x in figure.axes[1].lines if x.get_gid() == "relative log"]
    np.testing.assert_allclose(
        np.asarray(lower[0].get_xydata()), [[20, 1.5], [40, 2.5], [200, 3.5]]
    )
    # A length that one of the seeds was not tested at is not drawn.
    tested = counted_accuracies(store, runs)
    *_, before, longest = sorted(set(tested["length"].to_list()))
    partly = tested.filter((pl.col("run") != runs["run"][0]) | (pl.col("length") < longest))
    drawn = peaked(runs, partly, entropies, []).axes[0].lines
    shown = [x for x in drawn if str(x.get_gid()).startswith("relative")]
    assert sorted(int(np.max(x.get_xdata())) for x in shown) == [before, longest]


def test_the_entropy_of_attention_is_0_for_one_key_and_log_n_for_all():
    peaked = jnp.broadcast_to(jnp.eye(8), (2, 3, 8, 8))
    uniform = jnp.full((2, 3, 8, 8), 1 / 8)
    nothing = jnp.zeros((2, 8, 4))
    trace = Trace(nothing, (nothing,) * 3, (peaked, uniform, (peaked + uniform) / 2), nothing)
    mixed = -(7 * (1 / 16) * np.log(1 / 16) + (9 / 16) * np.log(9 / 16))
    np.testing.assert_allclose(mean_entropies(trace), [0, np.log(8), mixed], atol=1e-6)


def test_a_log_scale_makes_the_same_model_attend_more_sharply():
    experiment = with_maximum(tiny(encoding="none", test_length=6))
    log = dataclasses.replace(
        experiment, model=dataclasses.replace(experiment.model, attention_scale="log")
    )
    # log 12 = 2.5 at length 6, input and output.
    usual, sharp = (
        attention_entropy(Trained(e, random_model(e, seed=1)), [6])[0].mean()
        for e in (experiment, log)
    )
    assert 0 < sharp < usual < np.log(12)


def test_an_empty_store_has_tables_without_rows():
    scored = score_runs(records([]))
    for make in (choose_maximum, draws, peaked_table):
        assert make(scored).rows == []
    assert isinstance(scale_runs(scored).runs, pl.DataFrame)

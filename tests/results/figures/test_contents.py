"""The numbers in the figures are those of the store."""

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from randpos import Evaluation, Experiment, PositionOptions, UserError
from randpos.catalog import PAPER_COMBINATIONS
from randpos.paper.artifacts import ARTIFACTS
from randpos.paper.looks import task_title
from randpos.results.figures import (
    attention,
    curves,
    efficiency_of_store,
    max_position,
    overview,
    pca,
)
from randpos.results.figures.attention import shrink
from randpos.results.figures.overview import L, M, N
from randpos.results.figures.style import caption_of
from randpos.tasks import PAPER_TASKS
from tests.results.figures.gallery import (
    activations,
    efficiency_store,
    main_store,
    matrices,
    sweep_store,
)
from tests.results.figures.synthetic import records

SMALL = Experiment(steps=10, test_length=60, evaluation=Evaluation(batch=7))


def line(axes: Axes, gid: str) -> np.ndarray:
    (found,) = [curve for curve in axes.lines if curve.get_gid() == gid]
    return np.asarray(found.get_xydata())


def measured(axes: Axes) -> set[str]:
    """The lines of a panel but those that join measured points."""
    names = {str(curve.get_gid()) for curve in axes.lines}
    return {name for name in names if " " not in name}


def remarks(figure: Figure) -> str:
    return caption_of(figure)


def small(value: float, **changes):
    points = [(n, value) for n in (1, 40)] + [(41, value), (60, value - 0.2)]
    return dataclasses.replace(SMALL, **changes), points, 1.0


@pytest.mark.parametrize(("name", "task"), [("decoder", "copy"), ("addition", "addition_reversed")])
def test_decoders_have_curves_of_their_own(name: str, task: str) -> None:
    tasks = ("copy", "addition_reversed")
    decoders = [small(0.6, task=task, answers="autoregressive") for task in tasks]
    encoders = [small(0.9, task=task, encoding=e) for task in tasks for e in ("rope", "alibi")]
    figure = ARTIFACTS[name].draw(records([*decoders, *encoders]), Path())
    (axes,) = figure.axes
    assert axes.get_title().startswith(task_title(task))
    assert measured(axes) == {"randomized-relative", "training", "chance"}
    expected = [(1, 0.6), (40, 0.6), (41, 0.6), (60, 0.4)]
    np.testing.assert_allclose(line(axes, "randomized-relative"), expected)
    assert "generated tokens" in remarks(figure)
    with pytest.raises(UserError, match=f"No trained and tested decoder .*reproduce {name} first"):
        ARTIFACTS[name].draw(records(encoders), Path())


def test_curves_have_a_panel_per_task_and_a_line_per_encoding() -> None:
    figure = curves(main_store())
    assert len(figure.axes) == 15
    for axes, task in zip(figure.axes, PAPER_TASKS, strict=True):
        assert measured(axes) == {*PAPER_COMBINATIONS, "training", "chance"}
        assert set(line(axes, "chance")[:, 1]) == {PAPER_TASKS[task].chance}
        assert set(line(axes, "training")[:, 0]) == {40}


def test_a_curve_is_that_of_the_best_run() -> None:
    store = records([small(0.6), small(0.9, seed=1), small(0.8, learning_rate=1e-4)])
    (axes,) = curves(store, statistic="best").axes
    expected = [[1, 0.9], [40, 0.9], [41, 0.9], [60, 0.7]]
    np.testing.assert_allclose(line(axes, "randomized-relative"), expected)


def test_a_mean_is_over_the_seeds_of_the_best_rate_and_has_a_band() -> None:
    rates = {1e-4: (0.6, 0.8), 3e-4: (0.95, 0.3)}  # the best run is of the worse rate
    store = records(
        small(value, learning_rate=rate, seed=seed)
        for rate, values in rates.items()
        for seed, value in enumerate(values)
    )
    (axes,) = curves(store).axes
    expected = [[1, 0.7], [40, 0.7], [41, 0.7], [60, 0.5]]
    np.testing.assert_allclose(line(axes, "randomized-relative"), expected)
    (band,) = axes.collections
    sd = np.std([0.6, 0.8], ddof=1)
    heights = np.asarray(band.get_paths()[0].vertices)[:, 1]
    np.testing.assert_allclose([heights.min(), heights.max()], [0.5 - sd, 0.7 + sd])


def test_lines_are_means_over_the_seeds_that_all_encodings_have() -> None:
    rope = [small(value, encoding="rope", seed=s) for s, value in enumerate((0.6, 0.8))]
    (axes,) = curves(records([*rope, small(0.5, encoding="none")])).axes
    assert line(axes, "rope")[0].tolist() == [1, 0.6]


def test_the_number_of_seeds_of_each_line_is_stated() -> None:
    words = remarks(curves(records([small(0.6), small(0.9, seed=1)])))
    assert "2 seeds × 1 rate in every line" in words


def test_measured_lengths_have_markers_and_interpolated_ones_dashes() -> None:
    (axes,) = curves(records([small(0.6)])).axes
    marked = next(curve for curve in axes.lines if curve.get_gid() == "randomized-relative")
    assert (marked.get_marker(), marked.get_linestyle(), marked.get_markevery()) == ("s", "None", 1)
    # 40 and 41 are neighbours; from 1 to 40 and from 41 to 60 nothing was measured.
    along = line(axes, "along randomized-relative")
    joined = [i for i in range(len(along) - 1) if not np.isnan(along[i : i + 2]).any()]
    assert [along[i : i + 2, 0].tolist() for i in joined] == [[40, 41]]
    between = next(
        curve for curve in axes.lines if curve.get_gid() == "between randomized-relative"
    )
    assert between.get_linestyle() == "--"


def test_curves_that_coincide_are_named() -> None:
    two = [small(0.6, encoding=name) for name in ("rope", "alibi")]
    words = remarks(curves(records([*two, small(0.7, encoding="none")])))
    assert "Curves that coincide: Reverse String: ALiBi = RoPE." in words
    assert "coincide" not in remarks(curves(records([two[0], small(0.62, encoding="none")])))


def test_tasks_and_encodings_can_be_chosen() -> None:
    figure = curves(main_store(), ["bucket_sort"], ["rope"])
    (axes,) = figure.axes
    assert measured(axes) == {"rope", "training", "chance"}
    with pytest.raises(UserError, match="of even_pairs, fire is there to draw curves of"):
        curves(main_store(), ["even_pairs"], ["fire"])


def test_every_run_of_the_sweep_is_a_dot_and_the_best_make_the_line() -> None:
    store = sweep_store()
    figure = max_position(store)
    for axes, task in zip(figure.axes, ("reverse_string", "missing_duplicate"), strict=True):
        dots, best = line(axes, "runs"), line(axes, "best")
        assert len(dots) == store.runs.filter(task=task).height
        assert best[:, 0].tolist() == [1024, 2048, 4096, 8192]
        for maximum, value in best:
            assert value == dots[dots[:, 0] == maximum, 1].max()
        assert axes.get_xticklabels()[0].get_text() == "1,024"


def test_the_sweep_is_named_and_its_lines_are_explained() -> None:
    figure = max_position(sweep_store())
    assert figure.axes[1].get_title() == "Missing Duplicate (CS)\nRandomized Relative"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Chance"]
    store = sweep_store()
    store = store._replace(runs=store.runs.filter(task="missing_duplicate"))
    (axes,) = max_position(store).axes
    assert axes.get_title() == "Missing Duplicate (CS), Randomized Relative"


def test_a_larger_budget_with_one_maximum_does_not_hide_the_sweep() -> None:
    places = [PositionOptions(maximum=maximum) for maximum in (1024, 2048)]
    rows = [small(0.6, positions=place) for place in places] + [small(0.9, steps=20)]
    (axes,) = max_position(records(rows)).axes
    assert line(axes, "best")[:, 0].tolist() == [1024, 2048]
    other = [small(0.6, positions=places[0]), small(0.9, steps=20)]
    with pytest.raises(UserError, match="several values of L"):
        max_position(records(other))


def test_values_are_compared_over_the_seeds_that_all_have() -> None:
    places = [PositionOptions(maximum=maximum) for maximum in (1024, 2048)]
    rows = [small(0.6, positions=place) for place in places]
    (axes,) = max_position(records([*rows, small(0.9, positions=places[0], seed=1)])).axes
    ours, other = line(axes, "best")[:, 1]
    assert ours == other


def test_one_value_of_the_maximum_is_no_sweep() -> None:
    with pytest.raises(UserError, match="several values of L; run randpos reproduce max-position"):
        max_position(main_store())


def test_efficiency_shows_both_curves_in_seconds_and_says_the_ratios() -> None:
    store = efficiency_store()
    figure = efficiency_of_store(store, Path())
    (axes,) = figure.axes
    for encoding in ("relative", "randomized-relative"):
        runs = store.runs.filter(encoding=encoding).sort("seconds")
        points = line(axes, f"{encoding} test")
        np.testing.assert_allclose(points[:, 0], runs["seconds"].to_numpy())
        last = store.accuracies.filter(pl.col("run") == runs["run"].item(-1))
        assert points[-1, 1] == pytest.approx(last["accuracy"].mean())
        assert line(axes, f"{encoding} training")[-1, 0] == pytest.approx(runs["seconds"].item(-1))
    words = remarks(figure)
    assert "168 against 22.1 steps/s: 7.62 times as fast" in words
    assert "Above 90% of test accuracy 7.62 times as soon (interpolated); paper: 35.4" in words


def test_efficiency_says_why_a_time_is_unknown() -> None:
    store = efficiency_store()
    last = store._replace(runs=store.runs.filter(steps=2_000_000))
    assert "was above 90% at its first test" in remarks(efficiency_of_store(last, Path()))
    first = store._replace(runs=store.runs.filter(steps=20_000))
    assert "Relative with N = 500 did not reach 90%" in remarks(efficiency_of_store(first, Path()))


def test_pca_shows_all_points_of_all_layers() -> None:
    found = activations()
    figure = pca(found)
    assert len(figure.axes) == 12
    for axes, layer in zip(figure.axes, found[0].layers + found[1].layers, strict=True):
        drawn = {str(dots.get_gid()): dots.get_offsets() for dots in axes.collections}
        np.testing.assert_array_equal(drawn["short"], layer.short)
        np.testing.assert_array_equal(drawn["long"], layer.long)
        assert axes.get_title() == f"{layer.name}\n91% inside (95%)"
        assert axes.get_xlabel() == "PC 1"
    assert "60.0% at 150 (paper: 100.0%, 99.4%)" in figure.subfigs[1].get_suptitle()
    assert "One dot" not in remarks(figure)


def test_pca_says_why_a_panel_has_one_dot() -> None:
    model = activations()[0]
    same = model.layers[0]._replace(short=np.ones((60, 2)), long=np.ones((90, 2)))
    figure = pca([model._replace(layers=(same, *model.layers[1:]))])
    assert "One dot: all answering tokens enter as the same placeholder" in remarks(figure)


def test_attention_shows_every_matrix_on_one_scale() -> None:
    found = matrices()
    figure = attention(found)
    images = [axes.images[0] for axes in figure.axes if axes.images]
    every = [matrix for maps in found for matrix in maps.layers]
    assert len(images) == len(every) == 20
    for image, matrix in zip(images, every, strict=True):
        np.testing.assert_array_equal(image.get_array(), shrink(matrix)[0])
        assert (image.norm.vmin, image.norm.vmax) == (0.0, 1.0)
    titles = [axes.get_title() for axes in figure.axes if axes.images]
    assert titles[:5] == ["Layer 1: 2%", *(f"Layer {i}: 100%" for i in range(2, 6))]


def test_small_matrices_stay_and_large_ones_keep_their_largest_values() -> None:
    matrix = np.random.default_rng(0).random((100, 100))
    same, factor = shrink(matrix)
    assert factor == 1
    np.testing.assert_array_equal(same, matrix)
    large = np.zeros((250, 250))
    large[249, 0], large[4, 247] = 0.5, 0.7
    smaller, factor = shrink(large)
    assert (factor, smaller.shape) == (3, (84, 84))
    assert (smaller[83, 0], smaller[1, 82]) == (0.5, 0.7)
    assert np.count_nonzero(smaller) == 2


def test_the_sketch_has_strange_tokens_at_the_top_only() -> None:
    top, bottom = overview().axes
    places = []
    for axes in (top, bottom):
        tokens = [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
        strange = [patch for patch in tokens if patch.get_gid() == "strange"]
        places.append((tokens, strange))
    (ordinal, beyond), (randomized, never) = places
    assert (len(ordinal), len(beyond)) == (N + M, M - N)
    assert (len(randomized), len(never)) == (2 * N + M, 0)
    rows: dict[float, list[float]] = {}
    for patch in randomized:
        rows.setdefault(patch.get_y(), []).append(patch.get_x() + patch.get_width() / 2)
    for row in rows.values():
        assert row == sorted(row)
        assert len(set(row)) == len(row)
        assert 1 - 1e-9 <= row[0] <= row[-1] <= L + 1e-9

"""What can be seen of any figure: nothing is cut off, nothing overlaps, one look per encoding."""

import functools
import itertools

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from randpos import combinations
from randpos.catalog import PAPER_COMBINATIONS
from randpos.encodings import ENCODINGS
from randpos.paper.looks import encoding_label, look, stacks, task_title
from tests.results.figures.gallery import DRAW, figure


@functools.cache
def drawn(seen: Figure):
    canvas = FigureCanvasAgg(seen)
    canvas.draw()
    return canvas.get_renderer()


@pytest.mark.parametrize("name", DRAW)
def test_no_text_is_cut_off(name: str) -> None:
    seen = figure(name)
    renderer = drawn(seen)
    texts = [text for part in (seen, *seen.subfigs) for text in part.texts]
    texts += [text for axes in seen.axes for text in axes.texts]
    texts += [text for legend in seen.legends for text in legend.get_texts()]
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts]
    # These include titles and labels, and of the ticks only those that are seen.
    boxes += [(axes.get_title(), axes.get_tightbbox(renderer)) for axes in seen.axes]
    assert boxes
    for words, box in boxes:
        assert box is not None
        low, high = min(box.x0, box.y0), max(box.x1 - seen.bbox.x1, box.y1 - seen.bbox.y1)
        assert (low > -1, high < 1) == (True, True), words


@pytest.mark.parametrize("name", DRAW)
def test_legend_caption_and_panels_do_not_overlap(name: str) -> None:
    seen = figure(name)
    renderer = drawn(seen)
    boxes = [axes.get_tightbbox(renderer) for axes in seen.axes]
    boxes += [legend.get_window_extent(renderer) for legend in seen.legends]
    for part in (seen, *seen.subfigs):
        boxes += [text.get_window_extent(renderer) for text in part.texts if text.get_text()]
    boxes = [box for box in boxes if box is not None]
    for first, second in itertools.combinations(boxes, 2):
        wide = min(first.x1, second.x1) - max(first.x0, second.x0)
        high = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert min(wide, high) < 2.0, (first, second)


def test_entries_of_legends_do_not_overlap() -> None:
    for name in DRAW:
        renderer = drawn(figure(name))
        for legend in figure(name).findobj(Legend):
            assert isinstance(legend, Legend)
            texts = [t for t in legend.get_texts() if t.get_text().strip()]
            boxes = [text.get_window_extent(renderer) for text in texts]
            assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_an_encoding_looks_the_same_in_every_figure() -> None:
    seen = {}
    for drawing in DRAW:
        for axes in figure(drawing).axes:
            for line in axes.lines:
                name = str(line.get_gid()).partition(" ")[0]
                if name in combinations() and line.get_marker() not in (None, "None"):
                    look_of = (line.get_color(), line.get_marker(), line.get_markerfacecolor())
                    assert seen.setdefault(name, look_of) == look_of
    assert len(seen) >= 13


def test_pairs_share_a_hue_and_differ_in_the_line() -> None:
    for name, combination in combinations().items():
        randomized, plain = look(name), look(combination.encoding.name)
        assert (randomized.color, randomized.line == plain.line) == (
            plain.color,
            name == combination.encoding.name,
        )
        assert plain.label in randomized.label
    assert {look(n).line for n in combinations() if n.startswith("randomized")} == {"-"}


def test_an_encoding_is_called_as_in_the_tables() -> None:
    for name in PAPER_COMBINATIONS:
        assert look(name).label == encoding_label(name).removesuffix("★")  # a footnote's sign


def test_encodings_differ_in_label_colour_and_marker() -> None:
    for attribute in ("label", "color", "marker"):
        values = {getattr(encoding, attribute) for encoding in ENCODINGS.values()}
        assert len(values) == len(ENCODINGS)


def test_stacks_lose_no_encoding() -> None:
    names = set(combinations())
    found = [name for stack in stacks(names) for name in stack]
    assert len(found) == len(names)
    assert set(found) == names


def test_a_task_of_ones_own_keeps_its_name_and_is_not_loaded() -> None:
    assert task_title("no_such_module:Task") == "no_such_module:Task"


def test_drawing_leaves_the_users_settings_alone() -> None:
    before = dict(matplotlib.rcParams)
    for name in ("one", "max-position", "efficiency", "pca", "attention", "overview"):
        DRAW[name]()
    assert dict(matplotlib.rcParams) == before

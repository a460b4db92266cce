"""The rows of the paper by name."""

import pytest

from randpos import ENCODINGS, Ordinal, Randomized, combinations, get_combination
from randpos.catalog import PAPER_COMBINATIONS

EVERY = combinations()


def test_the_paper_has_13_rows_and_they_come_first():
    assert list(EVERY)[:13] == [
        "none",
        "sincos",
        "relative",
        "alibi",
        "rope",
        "learned",
        "randomized-sincos",
        "randomized-relative",
        "randomized-alibi",
        "randomized-rope",
        "randomized-learned",
        "geometric",
        "unsorted-sincos",
    ]
    assert [name for name, row in EVERY.items() if row.paper_name] == list(PAPER_COMBINATIONS)


def test_an_encoding_comes_plain_randomized_and_unsorted():
    forms = {f"{form}{name}" for form in ("randomized-", "unsorted-") for name in ENCODINGS}
    assert set(EVERY) == {*ENCODINGS, *forms} - {"randomized-none", "unsorted-none"}


def test_a_name_leads_to_its_combination():
    for name in EVERY:
        assert get_combination(name).name == name
        assert get_combination(name).encoding.name == name.split("-")[-1]


def test_label_is_randomized_learned():
    assert get_combination("label") == get_combination("randomized-learned")


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("rope", Ordinal()),
        ("randomized-rope", Randomized(99)),
        ("unsorted-rope", Randomized(99, sort=False)),
    ],
)
def test_the_prefix_is_the_scheme(name, scheme):
    assert get_combination(name).scheme(maximum=99) == scheme


def test_reading_and_draw_reach_the_scheme():
    scheme = get_combination("randomized-relative").scheme(reading="released", draw="per_layer")
    assert scheme == Randomized(2048, True, "released", "per_layer")


@pytest.mark.parametrize(
    ("name", "readings"),
    [
        ("relative", ("positions", "distances", "released")),
        ("alibi", ("distances", "positions")),
        ("rope", ("positions",)),
    ],
)
def test_the_readings_are_those_of_the_paper_and_the_released_code(name, readings):
    assert ENCODINGS[name].readings == readings

"""Curves in the browser: what is drawn, chosen and told on hovering."""

from playwright.sync_api import expect

from randpos.catalog import PAPER_COMBINATIONS
from tests.results.conftest import Open
from tests.results.stores import run, scored, small_store, store_with_steps


def test_tasks_and_encodings_of_the_curves_can_be_chosen(open_page: Open) -> None:
    page = open_page(small_store())
    panels = page.locator("#panels .panel")
    assert panels.locator("h3").all_inner_texts() == ["Even Pairs", "Reverse String"]
    lines = panels.nth(1).locator("svg .mark-line path")
    lines.nth(1).wait_for(state="attached")
    assert lines.count() == 2
    strokes = {line.get_attribute("stroke") for line in lines.all()}
    dashes = {line.get_attribute("stroke-dasharray") for line in lines.all()}
    assert strokes == {"#d55e00"}  # the same encoding
    assert len(dashes) == 2  # plain and randomized
    assert panels.nth(1).locator("svg .mark-rect path").count() == 1  # the training range
    assert panels.nth(1).locator("svg .mark-rule line").count() >= 1  # chance
    page.get_by_role("checkbox", name="Randomized RoPE").uncheck()
    expect(page.locator("#panels .mark-line path")).to_have_count(2)
    page.get_by_role("checkbox", name="Even Pairs").uncheck()
    assert panels.locator("h3").all_inner_texts() == ["Reverse String"]


def test_hovering_tells_the_accuracies(open_page: Open) -> None:
    page = open_page(small_store())
    chart = page.locator("#panels .panel").nth(1).locator(".chart")
    chart.scroll_into_view_if_needed()
    chart.locator("svg .mark-line path").first.wait_for(state="attached")
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 25, box["y"] + 90)
    tip = page.locator("#tip")
    tip.wait_for(state="visible")
    lines = tip.inner_text().split("\n")
    assert lines[0] == "length 500"
    assert lines[1:] == ["Randomized RoPE", "89.0", "RoPE", "55.0"]  # means over two seeds


def test_tests_along_the_way_are_drawn_over_steps(open_page: Open) -> None:
    page = open_page(store_with_steps())
    assert page.locator("#along").is_visible()
    page.locator("#steps .mark-line path").nth(1).wait_for(state="attached")
    assert page.locator("#steps .panel h3").all_inner_texts() == ["Even Pairs"]
    page.locator("#table-runs tbody button").first.click()
    assert "Score during training" in page.locator("#run").inner_text()
    assert not open_page(small_store()).locator("#along").is_visible()


def test_all_styles_can_be_told_apart(open_page: Open) -> None:
    store = scored([(run("reverse_string", name), 0.5) for name in PAPER_COMBINATIONS])
    page = open_page(store)
    lines = page.locator("#panels .mark-line path")
    lines.nth(12).wait_for(state="attached")
    kinds = {
        (line.get_attribute("stroke"), line.get_attribute("stroke-dasharray"))
        for line in lines.all()
    }
    assert len(kinds) == 13

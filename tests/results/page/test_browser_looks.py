"""The page on narrow screens, in the light and in the dark."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.results.conftest import Open
from tests.results.page.browsing import contrast
from tests.results.stores import small_store


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (390, "dark"), (768, "light")])
def test_a_narrow_screen_never_scrolls_sideways(open_page: Open, width: int, scheme: Any) -> None:
    page = open_page(small_store(), width, color_scheme=scheme, has_touch=True)
    page.locator("#panels .mark-line path").first.wait_for(state="attached")
    page.get_by_role("button", name="91.0, show the run").first.click()
    page.locator("#run .mark-line path").first.wait_for(state="attached")
    page.get_by_text("Configuration").click()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_light_and_dark_follow_the_system(open_page: Open) -> None:
    page = open_page(small_store(), color_scheme="light")
    page.locator("#panels svg .role-axis-label text").first.wait_for(state="attached")
    colours = """() => [
        getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector("#panels svg .role-axis-label text")).fill,
        getComputedStyle(document.querySelector("figure img")).filter,
    ]"""
    light = page.evaluate(colours)
    for selector in (".lead", "h3", "#tagline", "nav a", "caption", ".note p", "td.level"):
        assert contrast(page, selector) >= 4.5, selector
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(colours)
    assert [a != b for a, b in zip(light, dark, strict=True)] == [True] * 3
    for selector in (".lead", "h3", "#tagline", "nav a", "caption", ".note p", "td.level"):
        assert contrast(page, selector) >= 4.5, selector
    page.emulate_media(media="print")
    assert page.evaluate(colours) == light


def test_links_are_reachable_on_a_phone_and_open_their_section(open_page: Open) -> None:
    page = open_page(small_store(), 390, everything=False)
    for link in page.locator("nav a:visible").all():
        box = link.bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
    means = page.locator("#means > details")
    assert means.get_attribute("open") is None
    page.get_by_role("link", name="Means").click()
    assert means.get_attribute("open") is not None


def test_a_wide_table_tells_that_it_scrolls_until_its_end(open_page: Open) -> None:
    page = open_page(small_store(), 390)
    box = page.locator("[data-table=table1] .scrollbox")
    assert "more" in (box.get_attribute("class") or "")
    page.locator("[data-table=table1] .scroll").evaluate("node => (node.scrollLeft = 10_000)")
    expect(box).to_have_class("scrollbox")
    first = page.locator("#table-table1 tbody th").first.bounding_box()
    assert first is not None
    assert first["x"] >= 0  # the column of tasks stays


def test_paper_has_all_charts_and_open_sections(open_page: Open) -> None:
    page = open_page(small_store(), everything=False)
    page.locator("#panels .panel").nth(1).locator(".mark-line path").first.wait_for(
        state="attached"
    )
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 within its margins
    assert page.evaluate("document.documentElement.scrollWidth") == 718
    legend = page.locator("#curve-choice .chips").first
    assert legend.locator("svg:visible").count() == legend.locator("input:checked").count() > 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("#scores > details[open]").count() == 1
    assert page.locator("#means > details[open]").count() == 0

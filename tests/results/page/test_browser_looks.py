"""The page on narrow screens, in the light and in the dark."""

from typing import Any

import pytest

from tests.results.conftest import Open
from tests.results.page.browsing import contrast
from tests.results.stores import small_store


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 390, 768])
def test_a_narrow_screen_never_scrolls_sideways(open_page: Open, width: int, scheme: Any) -> None:
    page = open_page(small_store(), width, color_scheme=scheme, has_touch=True)
    page.locator("#panels .panel").first.scroll_into_view_if_needed()
    page.locator("#panels .mark-line path").first.wait_for(state="attached")
    page.get_by_role("button", name="91.0, show the run").first.click()
    page.locator("#run .mark-line path").first.wait_for(state="attached")
    page.get_by_text("Configuration").click()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_light_and_dark_follow_the_system(open_page: Open) -> None:
    page = open_page(small_store(), color_scheme="light")
    page.locator("#panels .panel").first.scroll_into_view_if_needed()
    label = page.locator("#panels svg .role-axis-label text").first
    label.wait_for(state="attached")
    background = "getComputedStyle(document.body).backgroundColor"
    light = (page.evaluate(background), label.get_attribute("fill"))
    for selector in ("h2", "#tagline", "nav a", "caption", ".note p", "td.level"):
        assert contrast(page, selector) >= 4.5, selector
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "old => document.querySelector('#panels svg .role-axis-label text')?.getAttribute('fill') "
        "!== old && document.querySelector('#panels svg') !== null",
        arg=light[1],
    )
    assert page.evaluate(background) != light[0]
    for selector in ("h2", "#tagline", "nav a", "caption", ".note p", "td.level"):
        assert contrast(page, selector) >= 4.5, selector

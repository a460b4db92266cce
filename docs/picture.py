"""Takes the picture of the playground that the README shows: `python -m docs.picture`.

It shows the task that the page opens with at twice the length of training, and the accuracy over
length that the page measures. Inputs and positions are drawn at random, and not chosen.
"""

import os
import tempfile
from pathlib import Path

from playwright.sync_api import FloatRect, sync_playwright
from tests.browser import MISSING, find_browser

from randpos.results.playground import load_players, write_playground
from randpos.store.folder import Store

ROOT = Path(__file__).parent.parent
READY = """() => [...document.querySelectorAll(".card:not([hidden])")]
  .every((card) => card.getAttribute("aria-busy") === "false")"""


def main() -> None:
    """Writes docs/figures/playground.png."""
    found = find_browser()
    assert found is not None, MISSING
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        path = Path(folder) / "playground.html"
        write_playground(load_players(Store(ROOT / "results")), path)
        browser = play.chromium.launch(executable_path=found, args=options)
        page = browser.new_page(viewport={"width": 1200, "height": 1000}, device_scale_factor=1.25)
        page.goto(f"file://{path}")
        page.locator("#lengths button.beyond").nth(1).click()
        page.wait_for_function(READY)
        page.evaluate("document.querySelectorAll('.card details').forEach((d) => (d.open = false))")
        page.locator("#sweep").click()
        page.locator("#stop").wait_for(state="visible")
        page.locator("#stop").wait_for(state="hidden", timeout=600_000)
        page.evaluate("window.scrollTo(0, 0)")  # boxes are relative to what is seen
        first, last = (page.locator(name).bounding_box() for name in ("#setup", "#curve"))
        assert first is not None
        assert last is not None
        height = last["y"] + last["height"] - first["y"] + 24
        clip: FloatRect = {"x": 0, "y": first["y"] - 12, "width": 1200, "height": height}
        picture = ROOT / "docs" / "figures" / "playground.png"
        page.screenshot(path=picture, full_page=True, clip=clip)
        browser.close()


if __name__ == "__main__":
    main()

"""Takes the picture of the playground that the README shows: `python -m docs.picture`.

It shows the first task of results/ at twice the length of training.
"""

import os
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
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
        page = browser.new_page(viewport={"width": 1200, "height": 1000}, device_scale_factor=1.5)
        page.goto(f"file://{path}")
        page.locator("#lengths button.beyond").nth(1).click()
        page.wait_for_function(READY)
        page.screenshot(path=ROOT / "docs" / "figures" / "playground.png")
        browser.close()


if __name__ == "__main__":
    main()

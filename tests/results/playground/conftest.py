"""Opens the playground in a browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from randpos.results.playground import Player, make_playground
from tests.results.conftest import Open
from tests.results.playground.players import Variant

Show = Callable[..., Page]
SETTLED = """() => [...document.querySelectorAll(".card:not([hidden])")]
  .every((card) => card.getAttribute("aria-busy") === "false")"""


@pytest.fixture
def show(open_page: Open, tmp_path: Path) -> Show:
    """Opens a page of models; by default three reverse strings and one sorts."""
    path = tmp_path / "playground.html"

    def start(*players: Player, address: str = "", width: int = 1280, **options: Any) -> Page:
        names = ("relative", "randomized-rope", "randomized-relative")
        usual = [Variant(name).player("reverse_string") for name in names]
        usual.append(Variant("randomized-relative").player("bucket_sort"))
        path.write_text(make_playground(players or usual))
        page = open_page(f"file://{path}{address}", width, **options)
        settle(page)
        return page

    return start


def settle(page: Page) -> None:
    """Waits until both models have answered."""
    page.wait_for_function(SETTLED)


def slide(page: Page, length: int) -> None:
    """Moves the slider."""
    page.locator("#length").fill(str(length))
    settle(page)

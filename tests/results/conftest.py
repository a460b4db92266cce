"""A server of a small store, and a browser to look at pages with."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from randpos.results import write_page
from randpos.results.page.sections import Picture
from randpos.results.page.serve import Site, make_server
from randpos.store.tables import StoreTables
from tests.browser import MISSING, find_browser, is_required
from tests.results.stores import packed

Open = Callable[..., Page]
PATIENCE = 120_000
"""Milliseconds that a page may take, on a machine that is busy with other work."""
expect.set_options(timeout=PATIENCE)
SHOW_EVERYTHING = """() => {
    const box = document.getElementById("show-all");
    if (box && !box.checked) box.click(); // the playground has none
    document.querySelectorAll(".part > details").forEach((part) => (part.open = true));
}"""
"""Shows rows, columns and tables of which nothing was run, and opens all sections."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(packed(tmp_path_factory.mktemp("served") / "store", 0.625), pause=0.0)


@pytest.fixture(scope="module")
def port(site: Site) -> Iterator[int]:
    with make_server(site, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = find_browser()
    if found is None:
        assert not is_required(), MISSING
        pytest.skip(MISSING)  # tests/conftest.py repeats it aloud
    # Chromium's sandbox does not work for root, as whom builds often run.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=found, args=options)
        yield started
        started.close()


@pytest.fixture(scope="session")
def write_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[StoreTables], Path]:
    """Writes the page of a store; most tests look at the same few stores."""
    written: dict[int, tuple[StoreTables, Path]] = {}  # keeps the store: its id must not be reused

    def write(store: StoreTables) -> Path:
        if id(store) not in written:
            path = tmp_path_factory.mktemp("page") / "page.html"
            write_page(store, path, {"A figure": Picture(b"<svg/>", "Words.")})
            written[id(store)] = store, path
        return written[id(store)][1]

    return write


@pytest.fixture
def open_page(browser: Browser, write_once: Callable[[StoreTables], Path]) -> Iterator[Open]:
    """Opens the page of a store, and fails if it complained or asked the network for anything."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []
    asked: list[str] = []
    files: list[str] = []

    def start(
        what: StoreTables | str, width: int = 1280, everything: bool = True, **options: Any
    ) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: problems.append(f"console: {m.text}"))
        page.on("pageerror", lambda e: problems.append(f"error: {e}"))
        if isinstance(what, StoreTables):
            what = f"file://{write_once(what)}"
            files.append(what)
            page.on("request", lambda r: asked.append(r.url))
        page.goto(what)
        page.wait_for_selector("html[data-ready=yes]")
        if everything:
            page.evaluate(SHOW_EVERYTHING)
        return page

    yield start
    for context in contexts:
        context.close()
    assert problems == []
    assert [url for url in asked if not url.startswith((*files, "data:"))] == []

"""The playground on narrow screens, by keyboard, in the dark, and with hostile names."""

from typing import Any

import pytest
from playwright.sync_api import expect

from randpos.results.playground import Player
from tests.results.page.browsing import contrast
from tests.results.playground.conftest import Show, settle, slide
from tests.results.playground.players import Variant

HOSTILE = "\"'><img src=x onerror=window.hacked=1></script><script>hacked=1</script>\x07\u202e"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 390, 768])
def test_a_narrow_screen_never_scrolls_sideways(show: Show, width: int, scheme: Any) -> None:
    page = show(width=width, color_scheme=scheme, has_touch=True)
    slide(page, 300)
    for card in page.locator(".card").all():
        details = card.locator("details.inside")
        if details.get_attribute("open") is None:
            details.locator("summary").click()
    settle(page)
    page.locator("#text").fill("01x")
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible(show: Show, scheme: Any) -> None:
    page = show(color_scheme=scheme)
    slide(page, 60)
    page.locator("#text").fill("2")
    selectors = [
        "h1",
        "#tagline",
        ".note",
        "label",
        ".bad",
        "#refusal",
        "#band-seen",
        "#band-unseen",
    ]
    for selector in [*selectors, ".verdict b", ".cell i", ".source"]:
        assert contrast(page, selector) >= 4.5, selector


def test_dark_mode_repaints_the_attention(show: Show) -> None:
    page = show(color_scheme="light")
    picture = "document.querySelector('#card-0 canvas').toDataURL()"
    light = page.evaluate(picture)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"(old) => {picture} !== old", arg=light)


def test_the_keyboard_reaches_everything(show: Show) -> None:
    page = show()
    page.locator("#text").fill("0110")
    settle(page)
    page.locator("#task").focus()
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.className")
        )
    order = [
        "model-0",
        "model-1",
        "length",
        "text",
        "draw-input",
        "answers",
        "redraw",
        "test",
        "sweep",
    ]
    assert [reached.index(name) for name in order] == sorted(map(reached.index, order))
    page.locator("#length").focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    assert len(page.locator("#text").input_value()) == 5
    answers = page.locator("#card-0 .answers")
    answers.focus()
    expect(page.locator("#tip")).to_contain_text("Answer 1 of 5")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert answers.get_attribute("aria-activedescendant") == "answer-0-3"
    expect(page.locator("#tip")).to_contain_text("Answer 4 of 5")
    expect(page.locator("#tip")).to_contain_text("probability of 1")
    assert page.locator("#card-0 .reading").inner_text().startswith("answer 4 attends to")


def test_the_probabilities_are_those_of_the_logits(show: Show) -> None:
    page = show()
    page.locator("#text").fill("0110")
    settle(page)
    page.locator("#card-0 .cell").nth(2).hover()
    script = """async () => {
      const left = Number(document.getElementById("model-0").value);
      const place = { positions: [1, 2, 3, 4, 5, 6, 7, 8] };
      const tokens = [0, 1, 1, 0, 2, 2, 2, 2];
      const { logits } = await makeRunner(readData("about-data"))(left, tokens, place, 4);
      return 1 / (1 + Math.exp(logits[4] - logits[5]));
    }"""
    share = page.evaluate(script)
    rows = page.locator("#tip div").all_inner_texts()
    shown = {row.split("\n")[0]: row.split("\n")[1] for row in rows if "\n" in row}
    assert shown["probability of 1"] == f"{100 * share:.1f} %"
    assert shown["probability of 0"] == f"{100 * (1 - share):.1f} %"


def test_nothing_moves_where_motion_is_not_wanted(show: Show) -> None:
    page = show(reduced_motion="reduce")
    moving = """() => [...document.querySelectorAll("*")].filter((node) => {
      const { transitionDuration, animationName } = getComputedStyle(node);
      return transitionDuration !== "0s" || animationName !== "none";
    }).length"""
    assert page.evaluate(moving) == 0


def test_hostile_names_run_nothing_and_show_as_text(show: Show) -> None:
    players = [Variant("relative").player("reverse_string")] * 2
    page = show(*(player._replace(run=HOSTILE + str(i)) for i, player in enumerate(players)))
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 5  # two of code, three of data
    shown = HOSTILE.replace("\x07", "\ufffd").replace("\u202e", "\ufffd")
    assert shown in page.locator("#card-0 .source").inner_text()
    assert shown in page.locator("#model-0 option").first.inner_text()
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    assert page.evaluate("window.hacked") is None


def test_the_page_asks_for_nothing(show: Show) -> None:
    page, asked = show(), []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    settle(page)
    slide(page, 20)
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []
    assert sum(url.startswith("file:") for url in asked) == 1


def test_many_models_of_one_encoding_are_told_apart(show: Show) -> None:
    players = [Variant("relative").player("reverse_string")] * 2
    named = [
        Player(f"run-{i}", player.experiment, player.model) for i, player in enumerate(players)
    ]
    options = show(*named).locator("#model-0 option").all_inner_texts()
    assert options == ["Relative · run-0", "Relative · run-1"]

"""Every control of the playground, in the browser."""

import re

import equinox as eqx
import jax.numpy as jnp
from playwright.sync_api import Page, expect

from randpos.results.playground import Player
from tests.results.playground.conftest import Show, settle, slide
from tests.results.playground.players import LARGEST, Variant


def test_the_slider_draws_an_input_and_each_answer_is_judged(show: Show) -> None:
    page = show()
    slide(page, 60)
    text = page.locator("#text").input_value()
    assert re.fullmatch("[01]{60}", text)
    assert "times as long as in training" in page.locator("#length-shown").inner_text()
    for card in page.locator(".card").all():
        cells = [
            (cell.get_attribute("class"), cell.inner_text()) for cell in card.locator(".cell").all()
        ]
        kinds = [(kind or "").split()[1] for kind, _ in cells]
        said, truth = zip(*(shown.split() for _, shown in cells), strict=True)
        assert "".join(truth) == text[::-1]
        assert kinds == ["right" if a == b else "wrong" for a, b in zip(said, truth, strict=True)]
        assert f"{kinds.count('right')} of 60 right" in card.locator(".verdict").inner_text()
    page.get_by_role("button", name="Draw a random input").click()
    settle(page)
    assert page.locator("#text").input_value() != text
    page.locator("#lengths").get_by_role("button", name="20", exact=True).click()
    settle(page)
    assert len(page.locator("#text").input_value()) == 20


def test_right_and_wrong_differ_in_shape(show: Show) -> None:
    page = show()
    slide(page, 60)
    corner = "(node) => getComputedStyle(node).borderTopLeftRadius"
    shapes = {page.locator(f".cell.{kind} b").first.evaluate(corner) for kind in ("right", "wrong")}
    assert len(shapes) == 2


def test_bad_input_is_refused_beside_the_field(show: Show) -> None:
    page = show()
    field, refusal = page.locator("#text"), page.locator("#refusal")
    for text, sentence in {
        "01x0": "“x” at place 3 is none of the symbols 0 1",
        "": "Type some of the symbols 0 1",
        "01" * 251: "The input has 502 symbols; at most 500 are allowed.",
    }.items():
        field.fill(text)
        expect(refusal).to_have_text(sentence)
        assert field.get_attribute("aria-invalid") == "true"
        assert page.locator(".card.stale").count() == 2
    field.fill("01 1\n0")
    expect(refusal).to_have_text("")
    settle(page)
    assert page.locator(".card.stale").count() == 0
    assert page.locator("#card-0 .cell i").all_inner_texts() == list("0110")
    assert page.locator("#length").input_value() == "4"
    page.locator("#symbols").get_by_role("button", name="1", exact=True).click()
    assert len(field.input_value().replace(" ", "").replace("\n", "")) == 5


def test_an_input_that_the_task_never_draws_is_refused(show: Show) -> None:
    page = show(Variant("none").player("missing_duplicate"))
    page.locator("#text").fill("0110_0")
    expect(page.locator("#refusal")).to_have_text(
        "The second half must repeat the first; place 3 differs."
    )
    page.locator("#text").fill("011_11")
    expect(page.locator("#refusal")).to_have_text("")
    settle(page)
    assert page.locator(".cell i").all_inner_texts() == ["0"]


def test_task_and_models_are_chosen(show: Show) -> None:
    page = show()
    # The plain form of an encoding and its randomized form come first.
    assert page.locator(".card h2").all_inner_texts() == ["Relative", "Randomized Relative"]
    page.locator("#model-0").select_option(label="Randomized RoPE")
    settle(page)
    assert page.locator(".card h2").all_inner_texts() == ["Randomized RoPE", "Randomized Relative"]
    page.locator("#task").select_option(label="Bucket Sort")
    settle(page)
    text = page.locator("#text").input_value()
    assert page.locator("#card-0 .cell i").all_inner_texts() == sorted(text)
    assert page.locator("#card-1").is_hidden()
    assert page.locator("#model-1").is_hidden()


def test_a_link_shows_the_same_input_and_models(show: Show) -> None:
    page = show()
    page.locator("#model-0").select_option(label="Randomized RoPE")
    page.locator("#text").fill("0010111")
    settle(page)
    address = page.evaluate("location.hash")
    page = show(address=address)
    assert page.locator("#text").input_value() == "0010111"
    assert page.locator(".card h2").all_inner_texts() == ["Randomized RoPE", "Randomized Relative"]
    assert show(address="#task=none&models=x&input=%3Cb%3E").locator(".card").count() == 2


def ticks(page: Page, card: int, kind: str) -> str:
    return page.locator(f"#card-{card} .numberline path.{kind}").first.get_attribute("d") or ""


def test_positions_beyond_training_stand_in_the_red(show: Show) -> None:
    page = show()
    slide(page, 4)  # as long as in training: 8 tokens
    assert ticks(page, 0, "unseen") == ""
    slide(page, 10)
    assert ticks(page, 0, "tick").count("M") == 8
    assert ticks(page, 0, "unseen").count("M") == 12
    assert "12 of 20 tokens have positions" in page.locator("#card-0").inner_text()
    assert ticks(page, 1, "tick").count("M") == 20
    assert ticks(page, 1, "unseen") == ""
    assert "All 20 positions occurred" in page.locator("#card-1").inner_text()


def test_positions_are_drawn_again(show: Show) -> None:
    page = show()
    slide(page, 30)
    before, plain = ticks(page, 1, "tick"), ticks(page, 0, "tick")
    text = page.locator("#text").input_value()
    said = page.locator("#card-1 .cell").evaluate_all("(all) => all.map((x) => x.ariaLabel)")
    assert page.locator("#card-0 .redraw").is_hidden()
    page.locator("#card-1").get_by_role("button", name="Draw positions again").click()
    settle(page)
    assert ticks(page, 1, "tick") != before
    assert ticks(page, 0, "tick") == plain
    assert page.locator("#text").input_value() == text
    now = page.locator("#card-1 .cell").evaluate_all("(all) => all.map((x) => x.ariaLabel)")
    assert now != said  # the probabilities, at least


def test_a_model_refuses_sequences_that_it_has_no_positions_for(show: Show) -> None:
    page = show()
    slide(page, 500)
    shown = page.locator("#card-1").inner_text()
    assert f"a sequence of 1,000 tokens, but the model has only {LARGEST} positions" in shown
    assert page.locator("#card-1 .result").is_hidden()
    assert page.locator("#card-0 .cell").count() == 500


def test_the_attention_of_a_head_follows_the_token_pointed_at(show: Show) -> None:
    page = show()
    page.locator("#text").fill("0110100")
    settle(page)
    card, picture = page.locator("#card-0"), "document.querySelector('#card-0 canvas').toDataURL()"
    before = page.evaluate(picture)
    card.get_by_label("Layer", exact=True).select_option("1")
    settle(page)
    first = page.evaluate(picture)
    card.get_by_label("Head", exact=True).select_option("2")
    settle(page)
    assert len({before, first, page.evaluate(picture)}) == 3
    # The words name the keys with the largest weights.
    script = """async () => {
      const about = readData("about-data");
      const tokens = [0, 1, 1, 0, 1, 0, 0, ...Array(7).fill(2)];
      const place = { positions: tokens.map((_, t) => t + 1) };
      const run = makeRunner(about);
      const left = Number(document.getElementById("model-0").value);
      const { attention } = await run(left, tokens, place, 7, { layer: 0, head: 1 });
      return Array.from(attention.subarray(2 * 14, 3 * 14));
    }"""
    weights = page.evaluate(script)
    # The colours reach from the page's to the card's, however small the weights are.
    strongest = """() => {
      const canvas = document.querySelector("#card-0 canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const name = getComputedStyle(document.documentElement).getPropertyValue("--side-0");
      const wanted = [1, 3, 5].map((at) => parseInt(name.trim().slice(at, at + 2), 16));
      return data.some((_, i) => i % 4 === 0 && wanted.every((c, j) => data[i + j] === c));
    }"""
    assert page.evaluate(strongest)
    assert "Full colour: " in card.locator(".scale").inner_text()
    card.locator("canvas").scroll_into_view_if_needed()
    box = card.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 9, box["y"] + box["height"] * 2.5 / 14)
    best = weights.index(max(weights))
    name = f"input {best + 1} “{'0110100'[best]}”" if best < 7 else f"answer {best - 6}"
    words = card.locator(".reading").inner_text()
    assert words.startswith(f"input 3 “1” attends to {name} {100 * max(weights):.1f} %")
    assert card.get_by_label("Token", exact=True).input_value() == "3"
    card.locator(".cell").nth(4).hover()
    assert card.locator(".reading").inner_text().startswith("answer 5 attends to")
    card.get_by_label("Token", exact=True).fill("2")
    card.get_by_label("Token", exact=True).press("Enter")
    assert card.locator(".reading").inner_text().startswith("input 2 “1” attends to")


def certain(encoding: str, answer: int) -> Player:
    """A model that always gives the same answer."""
    run, experiment, model, *_ = Variant(encoding).player("solve_equation")
    bias = jnp.zeros(5).at[answer].set(1e4)
    return Player(run, experiment, eqx.tree_at(lambda m: m.head.bias, model, bias))


def test_a_hundred_tests_add_a_point_to_both_curves(show: Show) -> None:
    # Below length 3 the input is 0 and the answer is 0: one model is always right, one never.
    page = show(certain("relative", 0), certain("randomized-relative", 1))
    slide(page, 2)
    page.get_by_role("button", name="Test 100 random inputs of length 2").click()
    expect(page.locator("#progress")).to_have_text("done")
    assert page.locator("#chart .dot title").all_text_contents() == [
        "Relative, length 2: 100.0 % of 100 inputs",
        "Randomized Relative, length 2: 0.0 % of 100 inputs",
    ]
    high, low = (page.locator(f"#chart .dot.side-{side}").bounding_box() for side in (0, 1))
    assert high is not None
    assert low is not None
    assert low["y"] - high["y"] > 150
    page.get_by_role("button", name="Test 20 at many lengths").click()
    expect(page.locator("#chart .dot.side-0").nth(1)).to_be_attached()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#progress")).to_have_text("stopped")
    page.get_by_text("The numbers").click()
    assert "100.0 % (100 of 100 all right)" in page.locator("#table").inner_text()
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#chart .dot").count() == 0


def test_only_answers_up_to_the_terminator_count(show: Show) -> None:
    page = show(Variant("none").player("binary_addition"))
    page.locator("#text").fill("1+1")
    settle(page)
    assert page.locator(".cell i").all_inner_texts() == ["0", "1", ".", "0"]
    assert page.locator(".cell.free").count() == 1
    assert "of 3 right" in page.locator("#card-0 .verdict").inner_text()

"""The forward pass in the browser against JAX, with the same weights, tokens and positions."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from randpos import Encoder, Positions, resolve
from randpos.results.playground import Player, make_playground
from randpos.store.folder import Store
from randpos.tasks import PAPER_TASKS
from randpos.tasks.base import total_length
from tests.cases import without
from tests.results.playground.players import LARGEST, VARIANTS, Variant

LENGTHS = (5, 40, 120)
TASKS = {
    name: PAPER_TASKS[name]
    for name in ("even_pairs", "solve_equation", "binary_addition", "duplicate_string")
}
"""One answer, n + 1 and 2n answers; the fewest and the most symbols."""
BUFFER = int(total_length(PAPER_TASKS["duplicate_string"], max(LENGTHS)))
ASK = """async (jobs) => {
  const run = makeRunner(readData("about-data"));
  const found = [];
  for (const [model, tokens, place, answers, look] of jobs) {
    const { logits, attention } = await run(model, tokens, place, answers, look);
    found.push([Array.from(logits), attention && Array.from(attention)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page with float32 weights of every kind of model for these tasks."""
    players = [variant.player(task) for task in TASKS for variant in VARIANTS]
    path = tmp_path_factory.mktemp("playground") / "page.html"
    path.write_text(make_playground(players, "float32"))
    page = browser.new_page()
    page.goto(f"file://{path}")
    yield page
    page.close()


@cache
def numbers(page: Page) -> dict[str, int]:
    """The number of each model on the page."""
    runs = page.evaluate("readData('about-data').models.map((one) => one.run)")
    return {run: number for number, run in enumerate(runs)}


@eqx.filter_jit
def trace(model: Encoder, tokens: Any, positions: Positions, mask: Any) -> tuple[Any, Any]:
    kept = model.trace(tokens, positions, mask=mask)
    return kept.logits[0], kept.attention[-1][0]


def place_of(positions: Positions, time: int, variant: Variant) -> dict[str, list[int]]:
    index = np.asarray(positions.query)[:time]
    if variant.reading == "distances":
        return {"distances": (index - 1).tolist()}
    return {"positions": index.tolist()}


SLOW = [
    f"{name}-positions-2-False"
    for name in ("alibi", "randomized-sincos", "randomized-rope", "randomized-alibi")
]
"""The page takes positions as they are: those of a plain encoding and random ones go one way."""


@pytest.mark.parametrize("variant", without(SLOW, VARIANTS), ids=str)
def test_logits_and_attention_are_those_of_jax(page: Page, variant: Variant) -> None:
    rng, jobs, expected = np.random.default_rng(0), [], []
    scheme = resolve(variant.experiment("solve_equation", LARGEST - 1)).scheme
    layer = variant.model.layers - 1
    for task, known in TASKS.items():
        for length in LENGTHS:
            answers = int(known.output_length(length))
            inputs = rng.integers(0, known.tokens, int(known.input_length(length)))
            tokens = np.concatenate([inputs, np.full(answers, known.tokens)])
            time = len(tokens)
            where = scheme.sample(jax.random.key(time), jnp.asarray(time), BUFFER)
            padded = jnp.asarray(np.pad(tokens, (0, BUFFER - time)))[None]
            mask = (jnp.arange(BUFFER) < time)[None]
            logits, attention = trace(variant.whole, padded, where, mask)
            look = {"layer": layer, "head": 1} if length == 40 else None
            number = numbers(page)[f"{variant}-{task}"]
            jobs.append([number, tokens.tolist(), place_of(where, time, variant), answers, look])
            expected.append(
                (
                    np.asarray(logits)[time - answers : time, : known.classes],
                    np.asarray(attention)[1, :time, :time] if look else None,
                )
            )
    found = page.evaluate(ASK, jobs)
    assert len(found) == len(TASKS) * len(LENGTHS)
    for (logits, attention), (wanted, weights) in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.reshape(logits, wanted.shape), wanted, atol=1e-4, rtol=0)
        if weights is not None:
            np.testing.assert_allclose(
                np.reshape(attention, weights.shape), weights, atol=1e-5, rtol=0
            )


def inputs_beyond_training(facts: dict[str, Any], number: int) -> list[list[Any]]:
    """Jobs for model `number` at lengths up to three times those of training."""
    rng, known, jobs = np.random.default_rng(1), PAPER_TASKS[facts["task"]], []
    for length in (5, 40, 120):
        answers = int(known.output_length(length))
        tokens = rng.integers(0, known.tokens, int(known.input_length(length))).tolist()
        tokens += [known.tokens] * answers
        where = 1 + np.sort(rng.choice(facts["maximum"] or len(tokens), len(tokens), replace=False))
        jobs.append([number, tokens, {"positions": where.tolist()}, answers, None])
    return jobs


def test_half_precision_answers_as_full_precision_does(browser: Browser, tmp_path: Path) -> None:
    """On committed models; an answer may differ where two classes are nearly tied."""
    store = Store(Path(__file__).parents[3] / "results")
    folders = [player for player in store.runs() if player.parameters.is_file()]
    players = [Player.load(folder) for folder in folders]
    players = [player for player in players if "alibi" not in player.experiment.encoding][:2]
    path, found, classes = tmp_path / "page.html", {}, []
    for precision in ("float16", "float32"):
        path.write_text(make_playground(players, precision))
        page = browser.new_page()
        page.goto(f"file://{path}")
        models = page.evaluate("readData('about-data').models")
        jobs = [job for i, facts in enumerate(models) for job in inputs_beyond_training(facts, i)]
        classes = [PAPER_TASKS[models[job[0]]["task"]].classes for job in jobs]
        found[precision] = [np.array(logits) for logits, _ in page.evaluate(ASK, jobs)]
        page.close()
    assert found["float16"]
    for half, full, count in zip(*found.values(), classes, strict=True):
        half, full = half.reshape(-1, count), full.reshape(-1, count)
        error = np.abs(half - full).max()
        assert 0 < error < 0.1
        best = np.sort(full, axis=1)
        clear = best[:, -1] - best[:, -2] > 2 * error
        assert clear.mean() > 0.8
        assert (half.argmax(1) == full.argmax(1))[clear].all()

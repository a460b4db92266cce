"""Tasks and positions in the browser against plain Python."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

import pytest
from playwright.sync_api import Browser, Page
from scipy.stats import chisquare

from randpos.results.playground import make_playground
from randpos.tasks import PAPER_TASKS
from tests.oracles.laws import LAWS
from tests.oracles.tasks import ORACLES
from tests.results.playground.players import Variant

SEEDED = """
  let state = 12345;
  const random = () => {  // mulberry32
    let t = (state += 0x6d2b79f5);
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
"""
LENGTHS = [*range(1, 41), 60, 77, 100, 199, 200, 350, 499, 500]


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = tmp_path_factory.mktemp("playground") / "page.html"
    path.write_text(make_playground([Variant("none").player("even_pairs")]))
    page = browser.new_page()
    page.goto(f"file://{path}")
    yield page
    page.close()


@pytest.mark.parametrize("task", PAPER_TASKS)
def test_inputs_are_valid_and_answers_are_the_oracles(page: Page, task: str) -> None:
    """The oracle in Python asserts that an input is one that the task may draw."""
    lengths = list(itertools.islice(itertools.cycle(LENGTHS), 500))
    script = f"""([task, symbols, lengths]) => {{ {SEEDED}
      return lengths.map((n) => {{
        const tokens = TASKS[task].sample(n, random);
        const extra = [TASKS[task].check(tokens, symbols), totalLength(task, n)];
        return [tokens, TASKS[task].answer(tokens, symbols), ...extra];
      }});
    }}"""
    found = page.evaluate(script, [task, PAPER_TASKS[task].symbols, lengths])
    for n, (tokens, answer, refusal, total) in zip(lengths, found, strict=True):
        assert refusal is None
        assert answer == ORACLES[task](tokens, n)
        assert total == len(tokens) + len(answer)


@pytest.mark.parametrize("task", PAPER_TASKS)
def test_exactly_the_inputs_that_a_task_may_draw_are_accepted(page: Page, task: str) -> None:
    """Valid inputs with one symbol changed, two swapped or one dropped, and all of length 2."""
    script = f"""([task, symbols]) => {{ {SEEDED}
      const any = (bound) => Math.floor(random() * bound);
      const inputs = [];
      for (let a = 0; a < symbols.length; a++) {{
        inputs.push([a]);
        for (let b = 0; b < symbols.length; b++) inputs.push([a, b]);
      }}
      for (let i = 0; i < 500; i++) {{
        const tokens = TASKS[task].sample(3 + (i % 9), random);
        const [a, b] = [any(tokens.length), any(tokens.length)];
        if (i % 3 === 0) tokens[a] = any(symbols.length);
        else if (i % 3 === 1) [tokens[a], tokens[b]] = [tokens[b], tokens[a]];
        else tokens.splice(a, 1);
        inputs.push(tokens);
      }}
      return inputs.map((tokens) => [tokens, TASKS[task].check(tokens, symbols)]);
    }}"""
    for tokens, refusal in page.evaluate(script, [task, PAPER_TASKS[task].symbols]):
        try:
            ORACLES[task](tokens, len(tokens))
            accepted = True
        except (AssertionError, ValueError, SyntaxError, KeyError):
            accepted = False
        assert (refusal is None) == accepted, (tokens, refusal)


@pytest.mark.parametrize("task", PAPER_TASKS)
def test_inputs_follow_the_law_of_the_task(page: Page, task: str) -> None:
    length, count = 5, 4000
    script = f"""([task, n, count]) => {{ {SEEDED}
      return Array.from({{ length: count }}, () => TASKS[task].sample(n, random));
    }}"""
    drawn = Counter(tuple(string) for string in page.evaluate(script, [task, length, count]))
    law: dict[tuple[int, ...], Fraction] = LAWS[task](length)
    assert set(drawn) <= set(law)
    # Every symbol at every place: inputs themselves are too many to count.
    for place in range(len(next(iter(law)))):
        expected: defaultdict[int, float] = defaultdict(float)
        seen: Counter[int] = Counter()
        for tokens, probability in law.items():
            expected[tokens[place]] += float(probability) * count
        for tokens, times in drawn.items():
            seen[tokens[place]] += times
        symbols = sorted(expected)
        if len(symbols) > 1:
            test = chisquare([seen[s] for s in symbols], [expected[s] for s in symbols])
            assert test.pvalue > 1e-5


def test_positions_are_uniform_ordered_subsets(page: Page) -> None:
    script = f"""() => {{ {SEEDED}
      const model = {{ randomized: true, reading: "positions", maximum: 6 }};
      return Array.from({{ length: 4000 }}, () => drawPlace(model, 3, random).positions);
    }}"""
    drawn = Counter(tuple(string) for string in page.evaluate(script))
    every = list(itertools.combinations(range(1, 7), 3))
    assert set(drawn) <= set(every)
    assert chisquare([drawn[string] for string in every]).pvalue > 1e-5


def test_distances_are_drawn_below_the_largest_position(page: Page) -> None:
    script = f"""() => {{ {SEEDED}
      const model = {{ randomized: true, reading: "distances", maximum: 6 }};
      return Array.from({{ length: 4000 }}, () => drawPlace(model, 3, random).distances);
    }}"""
    drawn = Counter(tuple(string) for string in page.evaluate(script))
    every = [(0, *pair) for pair in itertools.combinations(range(1, 6), 2)]
    assert set(drawn) <= set(every)
    assert chisquare([drawn[string] for string in every]).pvalue > 1e-5

"""Tasks as data and text: complete, serialisable and true to the tokens."""

import json
from pathlib import Path

import pytest

from randpos.errors import UserError
from randpos.tasks import TASKS
from randpos.tasks.render import examples, formula, show, table
from randpos.tasks.reverse_string import ReverseString
from tests.oracles.tasks import ORACLES


def test_the_table_has_the_facts_of_every_task():
    rows = json.loads(json.dumps(table()))
    assert [row["name"] for row in rows] == list(TASKS)
    facts = [
        (row["level"], row["tokens"], row["classes"], row["output_length"], row["chance"])
        for row in rows
    ]
    assert facts[:15] == [
        ("R", 2, 2, "1", 0.5),
        ("R", 8, 5, "1", 0.2),
        ("R", 2, 2, "1", 0.5),
        ("R", 3, 5, "1", 0.2),
        ("DCF", 5, 3, "n + 1", 0.5),
        ("DCF", 2, 2, "n", 0.5),
        ("DCF", 10, 5, "1", 0.2),
        ("DCF", 11, 5, "1", 0.2),
        ("CS", 2, 2, "2n", 0.5),
        ("CS", 4, 2, "1", 0.5),
        ("CS", 2, 2, "n", 0.5),
        ("CS", 3, 3, "n + 1", 0.5),
        ("CS", 3, 3, "n", 0.5),
        ("CS", 2, 2, "⌈n/2⌉", 0.5),
        ("CS", 5, 5, "n", 0.2),
    ]


def test_an_unfamiliar_output_length_is_shown_by_its_values():
    class Squares(ReverseString):
        def output_length(self, length):
            return length**2

    assert formula(Squares()) == "1, 4, 9, 16, …"


@pytest.mark.parametrize("name", ["stack_manipulation", "odds_first"])
def test_examples_are_what_the_oracle_says(name):
    task = TASKS[name]
    shown = json.loads(json.dumps(examples(task, 12, 5, 0)))
    lines = show(task, 12, 5, 0)
    assert len(shown) == len(lines) == 5
    for example, line in zip(shown, lines, strict=True):
        assert example["outputs"] == ORACLES[name](example["inputs"], 12)
        assert "".join(task.symbols[token] for token in example["inputs"]) == example["input"]
        written = "".join(task.output_symbols[token] for token in example["outputs"])
        assert example["output"] + example["ignored"] == written
        assert len(example["output"]) == sum(example["counted"])
        ending = f"[{example['ignored']}]" if example["ignored"] else ""
        assert line == f"{example['input']} → {example['output']}{ending}"


def test_the_documentation_tells_the_same():
    lines = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text().splitlines()
    for facts in table():
        task = TASKS[facts["name"]]
        name = f"`{task.name}`" + (" †" if task.permutation_invariant else "")
        cells = [f"| {name} | {task.level} | `{task.symbols}` | `{task.output_symbols}` "]
        cells.append(f"| {facts['output_length']} | {task.chance:.0%} | `".replace("%", " %"))
        start = "".join(cells)
        example = next(line.removeprefix(start) for line in lines if line.startswith(start))
        inputs, _, outputs = example.removesuffix("` |").partition(" → ")
        answer = ORACLES[task.name]([task.symbols.index(symbol) for symbol in inputs], 12)
        written = "".join(task.output_symbols[token] for token in answer)
        assert outputs.replace("[", "").replace("]", "") == written


def test_seeds_give_other_examples():
    task = TASKS["reverse_string"]
    assert show(task, 30, 2, 0) == show(task, 30, 2, 0) != show(task, 30, 2, 1)


@pytest.mark.parametrize(("length", "count", "word"), [(0, 5, "length"), (12, 0, "count")])
def test_bad_numbers_are_a_sentence(length, count, word):
    with pytest.raises(UserError, match=f"The {word} is 0; it must be 1 or more."):
        show(TASKS["reverse_string"], length, count, 0)

"""What the documentation says: tests that it names exist, and its Python runs."""

import importlib
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from docs import hooks
from docs.hooks import notebook_page, on_page_markdown

import randpos
from randpos import Experiment
from randpos.huggingface import families
from randpos.huggingface.families import _FAMILIES
from tests.experiments import random_model, tiny
from tests.huggingface.tiny import fresh, tokens

ROOT = Path(__file__).parent.parent
FIDELITY = (ROOT / "docs" / "fidelity.md").read_text()
API = {path.stem: path.read_text() for path in sorted((ROOT / "docs" / "api").glob("*.md"))}
PYTHON = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


# Every choice of fidelity.md has its test.


def test_named_tests_exist():
    for name in set(re.findall(r"`(tests/[^`]+)`", FIDELITY)):
        path, _, function = name.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / path).read_text(), re.MULTILINE), name


def test_every_choice_names_its_test():
    entries = re.findall(r"^- .*?(?=^- |^#|\Z)", FIDELITY, flags=re.MULTILINE | re.DOTALL)
    assert len(entries) > 20
    assert [entry for entry in entries if "Tested by: `tests/" not in entry] == []


@pytest.mark.parametrize(("encoding", "rows"), [("learned", 1000), ("randomized-learned", 2048)])
def test_a_learned_table_has_a_row_for_each_position(encoding, rows):
    def size(name: str) -> int:
        experiment = Experiment(task="reverse_string", encoding=name)
        return randpos.resolve(experiment).parameter_count

    assert size(encoding) == size("none") + 64 * rows


# What the page on the architecture names is there.

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
PACKAGE = ROOT / "src" / "randpos"


def test_files_of_the_architecture_exist():
    named = set(re.findall(r"`([\w/]+\.(?:py|json))`", ARCHITECTURE))
    assert len(named) > 40
    assert [name for name in sorted(named) if not (PACKAGE / name).exists()] == []


def test_symbols_of_the_architecture_are_in_their_files():
    pairs = re.findall(r"`([\w.]+)` in `([\w/]+\.py)`", ARCHITECTURE)
    assert len(pairs) > 10
    for name, path in pairs:
        last = name.rpartition(".")[2]
        assert re.search(
            rf"^\s*(def |class )?{last}\b", (PACKAGE / path).read_text(), re.MULTILINE
        ), name


# Every public name is on the page.

MODULES = [
    "",
    "benchmark",
    "paper",
    "results",
    "results.figures",
    "results.inspect",
    "torch",
    "huggingface",
]
PUBLIC = [
    f"{module.__name__}.{name}"
    for module in (importlib.import_module(f"randpos.{m}".rstrip(".")) for m in MODULES)
    for name in module.__all__
] + [
    "randpos.export.export_torch",
    "randpos.numpy.sample_positions",
    "randpos.numpy.sample_skipwise",
]
LISTED = re.findall(r"^::: (\S+)$", "\n".join(API.values()), flags=re.MULTILINE)


def test_every_public_name_is_in_the_reference_once():
    assert [name for name in PUBLIC if name not in LISTED] == []
    assert len(set(LISTED)) == len(LISTED)


def test_what_the_reference_lists_is_there():
    for name in LISTED:
        module, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(module), last), name


@pytest.mark.parametrize("page", [page for page in API if page != "runs"])
def test_the_examples_of_the_reference_run(page, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)  # one reads the store of the repository
    names: dict = {}
    snippets = PYTHON.findall(API[page])
    assert snippets
    for code in snippets:
        exec(compile(code, f"{page}.md", "exec"), names)


# The snippets run, each in its own folder, with what the text around it says is there.


def trained():
    """A run's model on its own tokens."""
    experiment = tiny(encoding="randomized-relative")
    run = SimpleNamespace(model=lambda member: random_model(experiment, member))
    return {"run": run, "tokens": torch.randint(0, 2, (3, 8))}


def pretrained():
    """A Llama, something that trains it, and a prompt."""
    model = fresh("llama")
    words = tokens(2, 6)
    trainer = SimpleNamespace(train=lambda: model(words, labels=words).loss.backward())
    return {"model": model, "trainer": trainer, "prompt": {"input_ids": words}}


def foreign():
    """A model of a family that is not known yet."""
    model = fresh("llama")
    model.config.model_type = "my_model"
    return {"model": model}


OWN_MODEL = PYTHON.findall((ROOT / "docs" / "own-model.md").read_text())
PREPARED = [dict, trained, pretrained, foreign]


def test_every_snippet_of_the_guide_to_own_models_is_run():
    assert len(OWN_MODEL) == len(PREPARED)


@pytest.mark.parametrize("number", range(len(PREPARED)))
def test_a_snippet_of_the_guide_to_own_models_runs(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(_FAMILIES, "my_model", None)  # so that it is forgotten in the end
    del _FAMILIES["my_model"]
    names = PREPARED[number]()
    exec(compile(OWN_MODEL[number], "own-model.md", "exec"), names)
    if number == 0:
        assert names["attended"].shape == (4, 8, 40, 16)
    if number == 1:
        assert names["logits"].shape == (3, 8, 2)
    if number == 3:
        assert "my_model" in families()


def test_the_snippets_of_the_readme_for_ones_own_model_run(capsys):
    own = [
        code for code in PYTHON.findall((ROOT / "README.md").read_text()) if "train(" not in code
    ]
    assert len(own) == 3
    for code in own:
        exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("[")


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/api/runs.md"])
def test_experiments_that_pages_show_are_valid(page):
    shown = [code for code in PYTHON.findall((ROOT / page).read_text()) if "run = " in code]
    assert shown
    for code in shown:
        names = {}
        exec(code[: code.index("run = ")], names)
        assert isinstance(names["experiment"], randpos.Experiment)


# What the site takes from elsewhere.


def test_a_notebook_becomes_a_page_with_its_code():
    cells = [("markdown", "# Title\n\nWords."), ("code", "x = 1")]
    text = json.dumps({"cells": [{"cell_type": k, "source": [s]} for k, s in cells]})
    page = notebook_page("a.ipynb", text)
    assert page.startswith("# Title\n\n*The notebook `notebooks/a.ipynb`")
    assert page.endswith("Words.\n\n```python\nx = 1\n```")


def test_the_caption_of_a_figure_stands_below_it(tmp_path, monkeypatch):
    (tmp_path / "docs" / "figures").mkdir(parents=True)
    (tmp_path / "docs" / "figures" / "a.txt").write_text("Words.\n")
    monkeypatch.setattr(hooks, "ROOT", tmp_path)
    shown = "![One](figures/a.png)\n\n![Two](figures/b.png)"
    expected = "![One](figures/a.png)\n\n*Words.*\n\n![Two](figures/b.png)"
    assert on_page_markdown(shown) == expected


def test_the_site_has_the_guide_to_extensions_and_the_help_of_the_commands(monkeypatch):
    for name in ("COLUMNS", "NO_COLOR", "TERM"):
        monkeypatch.setenv(name, "")  # so that they are what they were in the end
    page = on_page_markdown((ROOT / "docs" / "extending.md").read_text())
    assert "class RootBias(Encoding)" in page
    assert (ROOT / "examples" / "my_task.py").read_text().strip() in page
    reference = on_page_markdown((ROOT / "docs" / "cli.md").read_text())
    assert "## randpos evaluate" in reference
    helped = re.findall(r"```text\n(.*?)```", reference, flags=re.DOTALL)
    assert max(len(line) for text in helped for line in text.splitlines()) <= 80

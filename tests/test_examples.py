"""The examples of the core run, and print what their comments promise."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize(
    ("name", "promise"),
    [
        ("sample_positions", "[1 2 3 4 5 6 7 8]"),
        ("own_attention_jax", "(20, 16) True"),
        ("build_encoder", "(3, 6, 2)"),
    ],
)
def test_an_example_runs(name, promise, capsys):
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert promise in capsys.readouterr().out


def test_the_contributing_guide_shows_the_example_of_a_task():
    guide = (EXAMPLES.parent / "CONTRIBUTING.md").read_text()
    assert (EXAMPLES / "my_task.py").read_text().strip() in guide

"""The Python of the guide runs."""

import re
from pathlib import Path

import pytest

GUIDE = (Path(__file__).parents[2] / "docs" / "benchmark.md").read_text()
SNIPPETS = re.findall(r"^```python\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_a_snippet_runs(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(SNIPPETS[number], "docs/benchmark.md", "exec"), {})

"""The examples in docstrings run. (pytest's own way of collecting them is slow.)"""

import doctest
import importlib
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
FILES = [p for p in sorted(SOURCE.rglob("*.py")) if re.search(r"^ *>>> ", p.read_text(), re.M)]
MODULES = [".".join(p.relative_to(SOURCE).with_suffix("").parts) for p in FILES]


@pytest.mark.parametrize("name", [name.removesuffix(".__init__") for name in MODULES])
def test_the_examples_of_a_module_run(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried > 0
    assert failed == 0

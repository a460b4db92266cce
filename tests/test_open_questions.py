"""The page of open questions shows what its store holds."""

from pathlib import Path

import pytest

from randpos.paper.artifacts import ARTIFACTS
from randpos.results.scores import score_runs
from randpos.results.tables.formats import render
from randpos.store.tables import read_store

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("name", ["choose-L", "draws", "peaked"])
def test_a_table_of_the_page_is_that_of_its_store(name):
    table = ARTIFACTS[name].make_table(score_runs(read_store(DOCS / "open-questions")))
    assert table.rows
    assert render(table, "markdown").strip() in (DOCS / "open-questions.md").read_text()

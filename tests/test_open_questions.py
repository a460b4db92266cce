"""The pages of open questions and of decoders show what their stores hold."""

from pathlib import Path

import pytest

from randpos.paper.artifacts import ARTIFACTS
from randpos.results.scores import score_runs
from randpos.results.tables.formats import render
from randpos.store.tables import read_store

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("choose-L", "open-questions"),
        ("draws", "open-questions"),
        ("peaked", "open-questions"),
        ("other-tasks", "open-questions"),
        ("addition", "decoder"),
    ],
)
def test_a_table_of_the_page_is_that_of_its_store(name, page):
    table = ARTIFACTS[name].make_table(score_runs(read_store(DOCS / page)))
    assert table.rows
    assert render(table, "markdown").strip() in (DOCS / f"{page}.md").read_text()

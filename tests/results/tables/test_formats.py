"""Every format says what the table says, and names from a store stay text."""

import csv
import dataclasses
import io
import re
from collections import Counter

import pytest

from randpos.errors import UserError
from randpos.results import make_table, render, table_names
from randpos.results.tables.formats import HEADINGS
from tests.results.stores import paper_table, run, scored

FORMATS = ["markdown", "latex", "csv", "text"]
HOSTILE = "<b>|a`*_&%$#{}~^\\input{x}\n\x1b[31m\u202e=1+1"


def test_markdown_has_every_cell_of_every_view() -> None:
    made = paper_table("table1")
    blocks = re.split(r"^\*\*(.+)\*\*$", render(made, "markdown"), flags=re.M)
    for view in made.views():
        block = blocks[blocks.index(HEADINGS[view]) + 1]
        lines = [line.strip("|").split("|") for line in block.splitlines() if line.startswith("|")]
        cells = [[cell.strip() for cell in line] for line in lines]
        assert {len(line) for line in cells} == {13}
        for row, line in zip(made.rows, cells[2:], strict=True):
            assert line[0] == row.level
            for column, text in zip(made.columns, line[2:], strict=True):
                assert text.strip("*") == made.text(row, column, view)
                assert (text[:2] == "**") == made.is_best(row, column, view)


@pytest.mark.parametrize("width", [60, 100])
def test_text_fits_the_terminal_and_loses_no_cell(width: int) -> None:
    made = dataclasses.replace(paper_table("table1"), chosen=("ours", "paper"))
    wide, narrow = render(made, "text"), render(made, "text", width)
    lines = [line for line in narrow.splitlines() if line.startswith("  ")]
    assert max(map(len, lines)) <= width < max(map(len, wide.splitlines()))
    assert "Difference" not in narrow
    words = Counter(re.findall(r"[0-9.]+\*?|–", "\n".join(lines)))
    assert words == Counter(
        re.findall(
            r"[0-9.]+\*?|–", "\n".join(line for line in wide.splitlines() if line.startswith("  "))
        )
    )


def test_latex_has_the_papers_layout() -> None:
    text = render(paper_table("table1"), "latex")
    # These lines are the paper's own, but for the names of its macros.
    for line in (
        r"\begin{tabular}{@{}llcrrrrrrcrrrrr@{}}",
        r"\cmidrule{11-15}",
        r"\multirow{7}{*}{CS}",
        r"& \textsc{Even Pairs} && 50.4 & 50.9 & 96.4 & 67.3 & 51.0 & 50.7 && \textbf{100.0} & "
        r"\textbf{100.0} & 81.5 & \textbf{100.0} & 97.5 \\",
        r"& \textsc{Parity Check}$^\dagger$ && 51.9 & 50.5 & 51.8 & 51.7 & 51.3 & 50.3 && "
        r"\textbf{52.6} & 52.2 & 50.3 & 52.3 & \textbf{52.6} \\",
        r"\textbf{Learned$^\bigstar$} \\",
    ):
        assert line in text
    means = render(paper_table("table-means"), "latex")
    assert r"& $\textbf{77.1}\pm6.6$ & $75.1\pm1.3$ &" in means


@pytest.mark.parametrize("name", table_names())
def test_latex_rows_have_as_many_cells_as_the_table(name: str) -> None:
    for table in render(paper_table(name), "latex").split(r"\begin{table*}")[1:]:
        layout = re.search(r"\\begin\{tabular\}\{@\{\}(\w+)@\{\}\}", table)
        assert layout is not None
        body = table.partition(r"\toprule")[2].partition(r"\bottomrule")[0]
        lines = [line for line in body.splitlines() if "&" in line]
        for line in lines:
            spans = re.findall(r"\\multicolumn\{(\d+)\}", line)
            assert line.count("&") + 1 + sum(int(s) - 1 for s in spans) == len(layout[1]), line
        assert table.count("{") == table.count("}")


def test_csv_reads_back() -> None:
    made = paper_table("table-means")
    rows = list(csv.DictReader(io.StringIO(render(made, "csv"))))
    assert len(rows) == len(made.rows) * len(made.columns)
    places = [(row, column) for row in made.rows for column in made.columns]
    for line, (row, column) in zip(rows, places, strict=True):
        cell = made.cell(row, column)
        assert cell.ours is not None
        assert cell.paper is not None
        assert float(line["ours"]) == pytest.approx(cell.ours.value, abs=1e-4)
        assert float(line["paper_sd"]) == pytest.approx(cell.paper.sd, abs=1e-4)
        assert "2,000,000 steps" in line["note"]


def test_csv_of_an_empty_store_says_not_run() -> None:
    rows = list(csv.DictReader(io.StringIO(render(make_table(scored([]), "table1"), "csv"))))
    assert {line["over"] for line in rows} == {"not run"}
    assert {line["ours"] for line in rows} == {""}


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_has_its_budget_in_every_format(form: str) -> None:
    assert "2,000,000 steps of 128 examples" in render(paper_table("table1"), form)


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_names_stay_text(form: str) -> None:
    store = scored([(run(HOSTILE, HOSTILE), 0.5), (run("even_pairs", "none"), 0.5)])
    text = render(make_table(store, "table1"), form)
    assert "\x1b" not in text
    assert "\u202e" not in text
    if form == "latex":
        assert "\\input" not in text
        assert r"\textbackslash{}input\{x\}" in text
    if form == "markdown":
        lines = [line for line in text.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
        assert "<b>" not in text.replace(r"\<b\>", "")
    if form == "csv":
        lines = list(csv.reader(io.StringIO(text)))
        assert len({len(line) for line in lines}) == 1


def test_csv_names_are_no_formulas() -> None:
    store = scored([(run("=cmd()", "none"), 0.5)])
    assert "'=cmd()" in render(make_table(store, "table1"), "csv")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UserError, match="Unknown format 'html'; known: csv, latex, markdown, text"):
        render(make_table(scored([]), "table1"), "html")

"""Tables in the browser: numbers, views, sorting and budgets."""

from randpos.results import make_table
from tests.results.conftest import Open
from tests.results.page.browsing import cells, choose, column
from tests.results.stores import paper_table, records, run, scored, small_store


def test_numbers_on_the_page_are_the_stores(open_page: Open) -> None:
    store = small_store()
    page, made = open_page(store), make_table(store, "table1")
    for view in made.views():
        choose(page, "table1", view)
        expected = [[made.text(row, c, view) for c in made.columns] for row in made.rows]
        assert [[t.replace("−", "-") for t in row] for row in cells(page, "table1")] == expected
    labels = page.locator("#table-table1 tbody th[scope=row]").all_inner_texts()
    assert labels[5] == "Reverse String"
    assert page.locator("#table-table1 tbody td.best").count() == 0  # differences have no best
    choose(page, "table1", "ours")
    assert page.locator("#table-table1 tbody td.best").all_inner_texts() == ["70.0", "91.0"]


def test_every_table_is_there_with_caption_headings_and_budget(open_page: Open) -> None:
    page = open_page(small_store())
    for name in ("table1", "table-means", "comparison", "running-times", "geometric", "gains"):
        table = page.locator(f"#table-{name}")
        assert table.locator("caption").inner_text()
        assert table.locator("thead th:not([scope])").count() == 0
        assert table.locator("tbody th[scope=row]").count() >= 15
        notes = page.locator(f"[data-table={name}] .note").text_content() or ""
        assert "1,000 steps of 128 examples, N=40" in notes or name == "geometric"
    assert page.locator("#analysis img").get_attribute("alt") == "A figure"


def test_columns_sort_by_click_and_by_keyboard(open_page: Open) -> None:
    page = open_page(small_store())
    choose(page, "table1", "paper")
    shown = column(page, "table1", 2)
    number = [float(text) for text in shown]
    button = page.locator("#table1-sort-2")
    heading = page.locator("#table-table1 th:has(#table1-sort-2)")
    button.click()
    assert [float(t) for t in column(page, "table1", 2)] == sorted(number, reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")  # the button kept the focus
    assert [float(t) for t in column(page, "table1", 2)] == sorted(number)
    assert heading.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert column(page, "table1", 2) == shown
    # Cells that were not run come last.
    choose(page, "table1", "ours")
    page.locator("#table1-sort-0").click()
    assert column(page, "table1", 0) == ["70.0"] + ["–"] * 14


def test_views_change_by_keyboard(open_page: Open) -> None:
    page = open_page(small_store())
    page.locator("#table1-ours").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#table1-in_domain").is_checked()
    assert cells(page, "table1")[0][0] == "100.0"
    page.locator("#table1-paper").focus()
    page.keyboard.press("Space")
    assert page.locator("#table1-paper").is_checked()
    assert cells(page, "table1")[0][:3] == ["50.4", "50.9", "96.4"]
    page.keyboard.press("ArrowRight")
    assert cells(page, "table1")[0][0] == "+19.6"  # 70.0 - 50.4


def test_another_budget_can_be_chosen(open_page: Open) -> None:
    page = open_page(small_store())
    texts = page.locator("#budget option").all_inner_texts()
    assert [text.partition(" steps")[0] for text in texts] == ["1,000", "50"]
    page.locator("#budget").select_option(index=1)
    assert cells(page, "table1")[0][0] == "30.0"
    assert "50 steps of 128" in (page.locator("[data-table=table1] .note").text_content() or "")
    assert page.locator("#panels .panel").count() == 1


def test_the_papers_store_shows_the_papers_table(open_page: Open) -> None:
    made = paper_table("table1")
    store = scored(
        [
            (run(row.key, column.key, steps=2_000_000), cell.value / 100)
            for row in made.rows
            for column in made.columns
            if (cell := made.cell(row, column).paper)
        ]
    )
    page = open_page(store)
    expected = [[made.text(row, c, "paper") for c in made.columns] for row in made.rows]
    assert cells(page, "table1") == expected
    scores = {key: cell.paper.value for key, cell in made.cells.items() if cell.paper}
    gaps = [
        scores[task, f"randomized-{plain}"] - scores[task, plain]
        for task, plain in scores
        if (task, f"randomized-{plain}") in scores
    ]
    mean = f"The mean difference is {sum(gaps) / len(gaps):+.1f} points"
    assert mean in page.locator("#headline").inner_text()


def test_an_empty_store_has_a_page_too(open_page: Open) -> None:
    page = open_page(records([], []))
    choose(page, "table1", "paper")
    assert cells(page, "table1")[0][0] == "50.4"
    assert "No run of this budget was tested." in page.locator("#result").inner_text()
    assert page.locator("#run-list [role=status]").inner_text() == "0 runs, page 1 of 1"


def test_what_was_not_run_is_hidden_until_it_is_asked_for(open_page: Open) -> None:
    store = small_store()
    page = open_page(store, everything=False)
    made = make_table(store, "table1").measured()
    expected = [[made.text(row, c, "ours") for c in made.columns] for row in made.rows]
    assert cells(page, "table1") == expected
    assert len(made.rows) < 15
    assert not page.locator("[data-table=readings]").is_visible()
    assert not page.get_by_role("link", name="Ablations").is_visible()
    page.get_by_label("Show what was not run").check()
    assert len(cells(page, "table1")) == 15
    assert page.get_by_role("link", name="Ablations").is_visible()

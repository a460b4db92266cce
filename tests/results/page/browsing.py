"""What tests ask of an open page."""

from playwright.sync_api import Page


def cells(page: Page, table: str) -> list[list[str]]:
    """What a table shows, row by row, without its columns of task and level."""
    rows = page.locator(f"#table-{table} tbody tr").all()
    return [row.locator("td:not(.level)").all_inner_texts() for row in rows]


def column(page: Page, table: str, number: int) -> list[str]:
    return [row[number] for row in cells(page, table)]


def choose(page: Page, table: str, view: str) -> None:
    page.locator(f"label:has(#{table}-{view})").click()

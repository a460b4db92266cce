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


def contrast(page: Page, selector: str) -> float:
    """The contrast of an element's text with the page behind it, as WCAG defines it."""
    script = """(selector) => {
        const parse = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
        const light = (rgb) => rgb.map((v) => v / 255)
            .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
        const ink = light(parse(getComputedStyle(document.querySelector(selector)).color));
        const paper = light(parse(getComputedStyle(document.body).backgroundColor));
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    }"""
    return page.evaluate(script, selector)

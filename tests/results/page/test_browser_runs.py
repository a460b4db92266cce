"""Runs in the browser: the list, the details, hostile names, and a store that grows."""

from randpos.results import score_runs
from randpos.results.page.serve import Site
from tests.results.conftest import Open
from tests.results.page.browsing import choose
from tests.results.stores import accuracies_of, many_records, packed, records, run, small_store

HOSTILE = "\"'><img src=x onerror=window.hacked=1></script><script>hacked=1</script>\x07\u202e"


def test_a_cell_opens_its_run(open_page: Open) -> None:
    store = small_store()
    page = open_page(store)
    best = store.runs.filter(task="reverse_string", encoding="randomized-rope", seed=0)
    page.get_by_role("button", name="91.0, show the run").first.click()
    shown = page.locator("#run")
    assert best["run"].item() in shown.locator("h3").inner_text()
    text = shown.inner_text()
    for fact in ("complete", "91.0 %", "100.0 %", "1,000 of 1,000", "L=2048, positions, per_batch"):
        assert fact in text
    shown.locator(".mark-line path").nth(2).wait_for(state="attached")
    assert shown.locator(".panel h4").all_inner_texts() == [
        "Training loss",
        "Training accuracy",
        "Accuracy over length",
    ]
    assert page.evaluate("document.activeElement.id") == "run"
    shown.get_by_text("Configuration").click()
    assert "model.layers" in shown.inner_text()
    shown.get_by_role("button", name="Close").click()
    assert shown.inner_text() == ""


def test_runs_are_filtered_sorted_and_paged(open_page: Open) -> None:
    store = many_records(lengths=41, seeds=1)
    page = open_page(store)
    status = page.locator("#run-list [role=status]")
    assert status.inner_text() == "585 runs, page 1 of 24"
    page.get_by_role("button", name="next →").click()
    assert status.inner_text() == "585 runs, page 2 of 24"
    page.locator("#runs-task").select_option("Bucket Sort")
    page.locator("#runs-encoding").select_option("RoPE")
    assert status.inner_text() == "3 runs, page 1 of 1"
    page.locator("#runs-sort-score").click()
    rows = [r.locator("td").all_inner_texts() for r in page.locator("#table-runs tbody tr").all()]
    expected = score_runs(store).filter(task="bucket_sort", encoding="rope")
    expected = expected.sort("score", descending=True)
    assert [row[3] for row in rows] == [f"{rate:g}" for rate in expected["learning_rate"]]
    assert [row[6] for row in rows] == [f"{100 * score:.1f}" for score in expected["score"]]
    page.locator("#runs-text").fill("rate 0.0005")
    assert status.inner_text() == "1 runs, page 1 of 1"


def test_runs_that_did_not_end_well_say_so(open_page: Open) -> None:
    page = open_page(small_store())
    page.locator("#runs-status").select_option("failed")
    page.locator("#table-runs tbody button").click()
    assert "failed: out of <memory>" in page.locator("#run").inner_text()
    assert "not tested" in page.locator("#run").inner_text()
    counts = page.locator("#counts").inner_text()
    assert "6 complete" in counts
    assert "1 diverged" in counts
    assert "6 runs under version 1" in page.locator("#what").inner_text()  # of the numerics


def test_hostile_names_run_nothing_and_show_as_text(open_page: Open) -> None:
    # What the reader of a packed store lets through: a task's name, a reason, an environment.
    bad = run(HOSTILE, "none", reason=HOSTILE) | {
        "environment": f'{{"device": "{"<script>window.hacked=1</script>"}"}}',
    }
    failed = run(HOSTILE, "rope", status="failed", reason=HOSTILE)
    store = records([bad, failed], accuracies_of(bad, 0.5))
    page = open_page(store)
    page.locator("#panels .mark-line path").first.wait_for(state="attached")
    page.locator("#table-runs tbody button").first.click()
    page.locator("#run summary").first.click()
    box = page.locator("#panels .chart").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 150, box["y"] + 80)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 1  # the figure
    assert page.locator("script").count() == 5
    shown = HOSTILE.replace("\x07", "\ufffd").replace("\u202e", "\ufffd")
    assert shown in page.locator("#table-table1").inner_text()
    assert shown in page.locator("#run h3").inner_text()
    assert "<script>window.hacked=1</script>" in page.locator("#where").inner_text()


def test_the_served_page_follows_the_store_and_keeps_what_was_chosen(
    open_page: Open,
    site: Site,
    port: int,
) -> None:
    page = open_page(f"http://127.0.0.1:{port}/")
    choose(page, "table1", "paper")
    page.evaluate("window.before = true")
    packed(site.store, 0.625, 0.875, 0.25)
    page.wait_for_function("() => window.before === undefined")
    page.wait_for_selector("html[data-ready=yes]")
    assert page.locator("#table1-paper").is_checked()
    assert "3 complete" in page.locator("#counts").inner_text()

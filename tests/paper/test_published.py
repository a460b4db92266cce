"""The published numbers: totals counted in the paper's source, and how the tables hang together."""

import csv
from importlib.resources import files

import polars as pl
import pytest

from randpos import UserError
from randpos.catalog import PAPER_COMBINATIONS
from randpos.paper import PLAIN, RANDOMIZED, claim, claims, published, published_value, tables
from randpos.paper.published import BEST_RANDOMIZED
from randpos.tasks import PAPER_TASKS

ELEVEN = [*PLAIN, *RANDOMIZED]

# Sums down the columns and along the rows of the source, by a parser other than the one that made
# the CSV: a wrong digit or two swapped cells show in one or the other.
DOWN = {
    ("scores", "max"): "670.5 631.9 767.4 707.9 639.2 618.7 903.8 987.4 854.6 933.7 820.4",
    ("means", "mean"): "638.3 611.2 703.1 657.4 617.0 598.7 846.7 908.1 822.2 868.8 787.2",
    ("means", "sd"): "13.2 14.8 38.5 38.0 20.3 13.4 32.8 53.3 22.9 39.4 20.5",
    ("running_times", "mean"): (
        "33.76 33.85 50.37 33.79 43.50 36.08 36.20 53.39 36.60 51.32 42.12"
    ),
    ("running_times", "sd"): "4.95 4.84 6.69 4.93 5.94 5.03 5.08 6.89 5.20 8.02 6.51",
    ("sorting", "max"): "668.8 903.8",
    ("geometric", "max"): "1002.6 857.1",
    ("geometric", "mean"): "929.8 771.3",
    ("geometric", "sd"): "48.3 55.4",
}
ALONG = {  # in the order of the task registry
    "scores": (
        "845.7 250.0 567.5 467.5 670.5 697.2 336.9 254.5 646.5 693.2 628.6 612.8 559.3 565.6 739.7"
    ),
    "means": (
        "822.1 246.2 562.1 406.2 669.1 676.3 332.2 251.0 645.0 673.9 621.8 610.4 558.8 564.0 726.7"
    ),
    "running_times": (
        "15.32 16.79 15.34 15.32 108.98 21.92 72.58 73.67 30.03 15.61 21.72 31.09 30.82 24.05 21.82"
    ),
    "sorting": (
        "150.4 45.7 104.8 118.3 123.2 128.4 64.8 44.7 125.2 105.6 118.7 114.4 102.0 102.7 123.7"
    ),
    "geometric": (
        "403.3 133.7 209.1 220.7 270.5 306.5 139.9 117.5 264.8 328.2 261.7 237.5 210.3 213.6 347.2"
    ),
}
COLUMNS = {
    "scores": ELEVEN,
    "running_times": ELEVEN,
    "sorting": ["unsorted-sincos", "randomized-sincos"],
    "means": ELEVEN,
    "geometric": [BEST_RANDOMIZED, "geometric"],
}


def numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]


@pytest.mark.parametrize(("table", "statistic"), DOWN)
def test_the_columns_add_up(table, statistic):
    rows = published(table).filter(statistic=statistic)
    sums = rows.group_by("encoding", maintain_order=True).agg(pl.col("value").sum())
    assert sums["encoding"].to_list() == COLUMNS[table]
    assert sums["value"].to_list() == pytest.approx(numbers(DOWN[table, statistic]), abs=1e-6)


@pytest.mark.parametrize("table", ALONG)
def test_the_rows_add_up(table):
    sums = dict(published(table).group_by("task").agg(pl.col("value").sum()).iter_rows())
    assert [sums[task] for task in PAPER_TASKS] == pytest.approx(numbers(ALONG[table]), abs=1e-6)


@pytest.mark.parametrize("table", tables()["name"])
def test_every_task_has_every_encoding_once(table):
    rows = published(table)
    statistics = tables().filter(name=table)["statistics"].item().split()
    cells = set(rows.select("task", "encoding", "statistic").iter_rows())
    assert cells == {(t, e, s) for t in PAPER_TASKS for e in COLUMNS[table] for s in statistics}
    assert len(cells) == rows.height
    assert set(rows["encoding"]) <= {*PAPER_COMBINATIONS, BEST_RANDOMIZED}


def test_accuracies_are_percentages_and_times_are_positive():
    for table in ("scores", "sorting", "means", "geometric"):
        accuracies = published(table).filter(pl.col("statistic") != "sd")["value"]
        assert accuracies.is_between(19.9, 100.0).all()
    assert published("running_times")["value"].is_between(0.1, 12.0).all()


def test_the_file_keeps_the_row_that_is_printed_twice():
    text = (files("randpos.paper") / "data" / "values.csv").read_text()
    times = [row for row in csv.DictReader(text.splitlines()) if row["table"] == "running_times"]
    tasks = list(dict.fromkeys((i // 22, row["task"]) for i, row in enumerate(times)))
    assert [task for _, task in tasks].count("binary_addition") == 2
    assert len(tasks) == 16


def test_no_mean_exceeds_its_maximum():
    both = published("scores").join(published("means"), on=["task", "encoding"])
    means = both.filter(statistic_right="mean")
    assert means.height == 15 * 11
    assert (means["value_right"] <= means["value"]).all()


def test_the_sorted_column_repeats_table_1():
    for task in PAPER_TASKS:
        expected = published_value("scores", task, "randomized-sincos")
        assert published_value("sorting", task, "randomized-sincos") == expected


@pytest.mark.parametrize(
    ("table", "statistic", "odd"),
    [
        ("scores", "max", {"binary_multiplication": (52.1, 50.1)}),
        ("means", "mean", {"bucket_sort": (99.4, 99.5)}),
    ],
)
def test_table_5_differs_from_its_sources_only_where_the_note_says(table, statistic, odd):
    rows = published(table).filter(pl.col("encoding").is_in(RANDOMIZED), statistic=statistic)
    best = dict(rows.group_by("task").agg(pl.col("value").max()).iter_rows())
    printed = {
        task: published_value("geometric", task, BEST_RANDOMIZED, statistic) for task in PAPER_TASKS
    }
    assert {t: (best[t], printed[t]) for t in PAPER_TASKS if best[t] != printed[t]} == odd


def test_a_cell_that_the_paper_lacks_is_none():
    assert published_value("scores", "reverse_string", "geometric") is None
    assert published_value("scores", "reverse_string", "relative", "mean") is None
    assert published_value("means", "reverse_string", "randomized-relative", "sd") == 6.6


def test_unknown_names_list_the_known_ones():
    with pytest.raises(UserError, match="Unknown table 'score'; did you mean 'scores'"):
        published("score")
    with pytest.raises(UserError, match="Unknown claim 'speed up'; did you mean 'speedup'"):
        claim("speed up")


def test_claims_are_named_once_and_say_where_they_stand():
    assert claims()["name"].is_unique().all()
    assert claims().null_count().pipe(lambda counts: sum(counts.row(0))) == 0
    assert (claim("parameters"), claim("parameters_relative")) == (249_026, 270_146)
    assert claim("parameters_relative") - claim("parameters") == claim("blocks") * 4_224


def test_changing_a_table_does_not_change_the_next_one():
    tables()[0, "name"] = "changed"
    claims()[0, "name"] = "changed"
    assert "changed" not in [*tables()["name"], *claims()["name"]]

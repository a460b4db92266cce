"""Accuracies in Parquet."""

import io

import polars as pl
import pytest

from randpos import Accuracy, Evaluation, UserError
from randpos.bits import VERSION
from randpos.store.accuracies import accuracies_path, read_accuracies, write_accuracies
from tests.experiments import tiny

ROWS = [
    Accuracy(1, 0.5, 0.25, 0.1, constant=True),
    Accuracy(2, 1 / 3, 0.0, 0.0, constant=False),
    Accuracy(500, 1.0, 1.0),
]


def test_accuracies_read_back_exactly_and_by_length(tmp_path):
    write_accuracies(tmp_path, tiny(), ROWS[::-1])
    assert read_accuracies(tmp_path, tiny()) == ROWS


def test_nothing_written_is_nothing_read(tmp_path):
    assert read_accuracies(tmp_path, tiny()) == []


def test_others_read_the_file_too(tmp_path):
    write_accuracies(tmp_path, tiny(), ROWS)
    table = pl.read_parquet(accuracies_path(tmp_path, tiny()))
    options = tiny().evaluation
    way = {"batch": options.batch, "seed": options.seed, "draws": 1, "numerics": VERSION}
    assert table.to_dicts() == [row._asdict() | way for row in ROWS]


def test_a_denser_test_adds_to_the_same_file(tmp_path):
    paths = {accuracies_path(tmp_path, tiny(evaluation=Evaluation(stride=s))) for s in (5, 10)}
    assert len(paths) == 1


@pytest.mark.parametrize("other", [Evaluation(batch=7), Evaluation(seed=7), Evaluation(draws=7)])
def test_another_test_is_another_file(tmp_path, other):
    first, two = tiny(evaluation=Evaluation()), tiny(evaluation=other)
    assert accuracies_path(tmp_path, first) != accuracies_path(tmp_path, two)


def parquet(**columns: list) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-7],
        lambda content: content[: len(content) // 2],
        lambda content: b"hello" * 100,
        lambda content: parquet(length=[1]),
        lambda content: parquet(length=["a"], accuracy=["b"], whole=["c"]),
    ],
    ids=["empty", "truncated", "half", "text", "columns", "types"],
)
def test_a_damaged_file_is_named(tmp_path, damage):
    write_accuracies(tmp_path, tiny(), ROWS)
    path = accuracies_path(tmp_path, tiny())
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match="is damaged; remove it to evaluate again"):
        read_accuracies(tmp_path, tiny())


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("length", [1, 3, 0, -1, None])
@pytest.mark.parametrize("share", [0.5, 1.5, -0.1, NAN, INF, None])
def test_what_no_test_can_measure_is_named(tmp_path, length, share):
    write_accuracies(tmp_path, tiny(), ROWS)
    path = accuracies_path(tmp_path, tiny())
    table = pl.read_parquet(path)
    more = pl.DataFrame(
        [(length, share, 0.5, None, None, None, 16, 0, 1, 7)], schema=table.schema, orient="row"
    )
    pl.concat([table, more]).write_parquet(path)
    if (length, share) == (3, 0.5):
        assert Accuracy(3, 0.5, 0.5) in read_accuracies(tmp_path, tiny())
        return
    with pytest.raises(UserError, match="is damaged; remove it to evaluate again"):
        read_accuracies(tmp_path, tiny())

"""Packed stores: the same tables in a few files, and damage is refused or left out."""

import io
import json
import random
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from randpos import UserError
from randpos.store.accuracies import accuracies_path
from randpos.store.folder import Store
from randpos.store.tables import StoreTables, pack, read_store
from tests.experiments import tiny
from tests.sweeps.synthetic import write_run

PACKED = ("runs.parquet", "accuracies.parquet")


@pytest.fixture
def packed(store, tmp_path_factory) -> Path:
    """The store, packed."""
    path = tmp_path_factory.mktemp("packed")
    pack(read_store(store), path)
    return path


def assert_same(found: StoreTables, expected: StoreTables) -> None:
    for left, right in zip(found, expected, strict=True):
        assert_frame_equal(left, right)


def test_a_packed_store_has_the_same_tables(store, packed):
    assert {path.name for path in packed.iterdir()} == {*PACKED, "tests.parquet"}
    assert_same(read_store(packed), read_store(store))


def test_a_run_that_is_packed_and_not_packed_counts_once(store):
    before = read_store(store)
    pack(before, store)
    assert_same(read_store(store), before)
    write_run(store, tiny(seed=6))
    runs, accuracies, _ = read_store(store)
    assert runs["seed"].to_list() == list(range(7))
    assert len(accuracies) == len(before.accuracies) + 6


def test_an_unfinished_run_does_not_hide_the_packed_one(tmp_path):
    write_run(tmp_path / "old", tiny())
    before = read_store(tmp_path / "old")
    pack(before, tmp_path / "new")
    write_run(tmp_path / "new", tiny(), "unfinished")
    assert_same(read_store(tmp_path / "new"), before)


def edit(path: Path, table: str, *changes: pl.Expr, drop: tuple[str, ...] = ()) -> None:
    """Rewrites a packed table, without the description that `pack` adds."""
    file = path / f"{table}.parquet"
    pl.read_parquet(file).with_columns(*changes).drop(drop).write_parquet(file)


def test_a_column_that_an_older_version_lacked_is_filled_in(store, packed):
    """Settings come from the configuration, and missing settings have their defaults.

    Version 0.1 tested with one draw of positions and recorded no standard errors.
    """
    expected = read_store(packed)
    assert set(expected.accuracies["draws"]) == {1}
    config = json.loads(expected.runs["config"][0])
    assert config["clip"] == 1.0

    def without_clip(text: str) -> str:
        return json.dumps({k: v for k, v in json.loads(text).items() if k != "clip"})

    shorter = pl.col("config").map_elements(without_clip, pl.String)
    edit(packed, "runs", shorter, drop=("maximum", "draw"))
    edit(packed, "accuracies", drop=("draws", "error"))
    assert_same(read_store(packed), expected)


@pytest.mark.parametrize("table", ["runs", "accuracies"])
def test_a_truncated_table_is_refused(packed, table):
    file = packed / f"{table}.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(UserError, match=f"{table}.parquet is damaged"):
        read_store(packed)


def test_a_missing_table_is_refused(packed):
    (packed / "accuracies.parquet").unlink()
    with pytest.raises(UserError, match=r"accuracies\.parquet cannot be used: No such file"):
        read_store(packed)


def test_a_newer_format_is_refused(packed):
    file, buffer = packed / "runs.parquet", io.BytesIO()
    pl.read_parquet(file).write_parquet(buffer, metadata={"randpos": json.dumps({"format": 99})})
    file.write_bytes(buffer.getvalue())
    with pytest.raises(UserError, match=r"was written in format 99.*install a newer randpos"):
        read_store(packed)


def test_a_run_with_another_name_than_its_digest_is_left_out(store, packed):
    expected = read_store(packed)
    first = expected.runs["run"][0]
    other = pl.col("run").replace({first: "0" * 16})
    for table in ("runs", "accuracies"):
        edit(packed, table, other)
    with pytest.warns(UserWarning, match="left out: 1 rows of .*runs.parquet"):
        found = read_store(packed)
    assert_same(found, expected.with_runs(expected.runs.filter(pl.col("run") != first)))


@pytest.mark.filterwarnings("ignore:left out:UserWarning")
def test_flipped_bits_are_a_warning_an_error_or_another_number(store, packed):
    path = accuracies_path(Store(store).run(tiny()).path, tiny())
    draw = random.Random(0)
    for file, folder in ((path, store), *((packed / name, packed) for name in PACKED)):
        intact = file.read_bytes()
        for _ in range(40):
            content = bytearray(intact)
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            file.write_bytes(content)
            try:
                read_store(folder)
            except UserError as error:
                assert str(file) in str(error)  # noqa: PT017
        file.write_bytes(intact)
    read_store(store)

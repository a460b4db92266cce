"""Tests along the way as a table of a store, packed and unpacked."""

import pytest

from randpos.store.folder import Store
from randpos.store.periodic_tests import FILE
from randpos.store.tables import pack, read_store
from tests.experiments import tiny


@pytest.fixture
def folder(tmp_path):
    run = Store(tmp_path / "runs").run(tiny())
    run.create(tiny())
    for step, accuracy in ((100, 0.5), (200, 0.75)):
        for length in (4, 6):
            run.append(FILE, {"step": step, "length": length, "accuracy": accuracy, "whole": 0.0})
    return run


def test_every_line_is_a_row_and_survives_packing(folder, tmp_path):
    tables = read_store(tmp_path / "runs")
    expected = [
        (tiny().digest, step, n, a, 0.0) for step, a in ((100, 0.5), (200, 0.75)) for n in (4, 6)
    ]
    assert tables.tests.rows() == expected
    pack(tables, tmp_path / "packed")
    assert read_store(tmp_path / "packed").tests.rows() == expected


def test_impossible_rows_are_left_out_with_a_warning(folder, tmp_path):
    folder.append(FILE, {"step": 300, "length": 0, "accuracy": 0.5, "whole": 0.0})
    folder.append(FILE, {"step": 300, "length": 4, "accuracy": 1.5, "whole": 0.0})
    folder.append(FILE, {"step": 300, "length": 4})
    with pytest.warns(UserWarning, match="3 impossible rows of tests.jsonl"):
        assert set(read_store(tmp_path / "runs").tests["step"]) == {100, 200}

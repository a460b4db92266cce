"""The registry: every entry can be made, and names nothing that does not exist."""

import importlib

import pytest

from randpos.paper.artifacts import ARTIFACTS, experiments, figures, tables


@pytest.mark.parametrize("name", ARTIFACTS)
def test_an_artifact_is_a_table_or_a_figure_that_exists(name):
    artifact = ARTIFACTS[name]
    places = {"tables": artifact.table, "figures": artifact.figure}
    assert any(places.values())
    for package, place in places.items():
        if place:
            module, _, function = place.partition(":")
            loaded = importlib.import_module(f"randpos.results.{package}.{module}")
            assert callable(getattr(loaded, function))


def test_tables_and_experiments_have_runs_to_be_made_of():
    assert set(tables()) <= set(experiments())
    assert set(ARTIFACTS) == {*tables(), *figures()}

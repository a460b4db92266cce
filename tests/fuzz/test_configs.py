"""Experiments from arbitrary JSON, and grids from arbitrary files."""

import datetime
import json
import math
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
from hypothesis import strategies as st

from randpos import Experiment, UserError
from randpos.paper.slices import Slice
from randpos.plain_data import flat
from randpos.sweeps.grid import read_grid
from randpos.training.tested_lengths import lengths_to_test
from tests.experiments import tiny
from tests.fuzz import inputs
from tests.fuzz.commands import run_command
from tests.fuzz.inputs import altered, check_sentence, damaged, fuzz, tried


@pytest.fixture(autouse=True)
def untyped(monkeypatch, tmp_path):
    """As people run it: without checks of types, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("randpos.cli.main.enable_cache", lambda: None)
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@fuzz(
    150,
    data=st.one_of(
        inputs.values, altered(tiny().to_dict()), altered(Experiment(encoding="rope").to_dict())
    ),
)
def test_a_config_is_an_experiment_or_a_sentence(data):
    with tried("configs"):
        try:
            settings = Experiment.from_dict(data)
        except UserError as error:
            check_sentence(str(error))
            return
        again = Experiment.from_dict(json.loads(json.dumps(settings.to_dict())))
        assert again == settings
        assert again.digest == settings.digest
        assert (
            len(lengths_to_test(settings)) <= settings.test_length
        )  # which is no more than can be listed


def toml(value: Any) -> str:
    """Writes a value as TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "nan" if math.isnan(value) else str(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, int):
        return hex(value) if value > 2**70 else str(value)  # which TOML reads at any length
    return json.dumps(value)


FIELDS = list(flat(Experiment().to_dict()))
toml_values = st.one_of(
    inputs.values.filter(lambda x: x is not None),
    st.sampled_from([2**20_000, datetime.datetime(2023, 1, 1), [[]], {}, [{}]]),
)
good = st.sampled_from(["reverse_string", "randomized-rope", 1, 40, 2048, 0.001, True])
names = st.one_of(st.sampled_from([*FIELDS, "positions", "model.", ".", "a.b.c"]), inputs.texts)
tables = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "fixed": st.dictionaries(names, st.one_of(good, toml_values), max_size=4),
            "axes": st.dictionaries(
                names, st.one_of(st.lists(st.one_of(good, toml_values), max_size=4), toml_values)
            ),
        },
    ),
    st.dictionaries(inputs.texts, toml_values, max_size=3),
)
WRITTEN = b"""[fixed]
steps = 10
[axes]
encoding = ["rope", "alibi"]
positions.maximum = [1024, 2048]
"""
files = st.one_of(
    tables.map(lambda t: "\n".join(f"{json.dumps(k)} = {toml(v)}" for k, v in t.items())).map(
        lambda text: text.encode(errors="surrogatepass")
    ),
    damaged(WRITTEN),
    st.binary(max_size=100),
)


@fuzz(150, content=files)
def test_a_grid_file_is_a_list_of_runs_or_a_sentence(tmp_path, content):
    path = tmp_path / "grid.toml"
    path.write_bytes(content)
    with tried("grid files"):
        try:
            runs = Slice(budget="smoke").expand(read_grid(path))
        except UserError as error:
            check_sentence(str(error))
            return
        assert all(isinstance(settings, Experiment) for settings in runs)


@fuzz(15, content=files)
def test_the_cost_of_a_grid_file_is_printed_or_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "grid.toml"
    path.write_bytes(content)
    with tried("sweep --estimate of grid files"):
        run_command(["sweep", str(path), "--estimate", "--budget", "smoke"])
    assert [settings.name for settings in Path().iterdir()] == ["grid.toml"]

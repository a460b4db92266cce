"""Command lines of real flags and rubbish, stopped before anything is trained or drawn."""

import dataclasses

import jaxtyping
import pytest
from hypothesis import strategies as st

from randpos.catalog import combinations
from randpos.cli.commands import COMMANDS
from randpos.errors import UserError
from randpos.experiment import PRESETS, Experiment
from randpos.paper.artifacts import ARTIFACTS
from randpos.paper.slices import Slice
from randpos.plain_data import flat
from randpos.sweeps.estimate import Speed
from randpos.tasks import TASKS
from tests.fuzz import inputs
from tests.fuzz.commands import run_command
from tests.fuzz.inputs import fuzz, tried


def stop(*_, **__):
    raise UserError("This is as far as a test goes.")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of its own, in which no command gets to its work proper."""
    monkeypatch.chdir(tmp_path)
    jaxtyping.config.update("jaxtyping_disable", True)
    monkeypatch.setattr("randpos.cli.main.enable_cache", lambda: None)
    for name in (
        "run.train",
        "cli.training.show_run",
        "sweeps.view.SweepView",
        "tasks.render.examples",
        "tasks.render.show",
        "cli.reporting.pictures",
        "results.serve",
        "results.write_page",
        "results.figures.save",
        "benchmark.export.frames",
        "cli.benchmarking.write_tasks",
        "cli.benchmarking.evaluate",
    ):
        monkeypatch.setattr(f"randpos.{name}", stop)
    monkeypatch.setattr("randpos.sweeps.local.measure_worker", lambda run: Speed(1e9, 1.0))
    (tmp_path / "runs").mkdir()
    yield tmp_path
    jaxtyping.config.update("jaxtyping_disable", False)


def flags_of(command) -> list[str]:
    """The flags of a command, negated ones included."""
    names = [field.name for field in dataclasses.fields(command)]
    names += [field.name for field in dataclasses.fields(Slice)] if "part" in names else []
    names += list(flat(Experiment().to_dict())) if "experiment" in names else []
    flags = [f"--{name}".replace("_", "-") for name in names]
    return [*flags, *(f"--no-{flag[2:]}" for flag in flags), "--help"]


FLAGS = {name: flags_of(command.load()) for name, command in COMMANDS.items()}
# No path that leads out of the folder: a user may overwrite a file by naming it.
RUBBISH = [word for word in inputs.NASTY if "/" not in word]
words = st.one_of(
    st.sampled_from([*TASKS, *combinations(), *ARTIFACTS, *PRESETS, "list", "show", "pack", "all"]),
    st.sampled_from(["0", "1", "-1", "7", "1e-3", "nan", "inf", "1_0", "0x10", "9" * 5000, "true"]),
    st.sampled_from(["runs", "json", "text", "latex", "nowhere.toml", "local", "ray", "--", "-x"]),
    st.sampled_from(RUBBISH),
    st.text(st.characters(exclude_characters="/"), max_size=8),
)


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    name = draw(st.sampled_from([*COMMANDS, "rubbish", "", "--version", "-h"]))
    line = name.split() if name in COMMANDS else [name]
    for _ in range(draw(st.integers(0, 5))):
        if name in FLAGS and draw(st.booleans()):
            flag = draw(st.sampled_from(FLAGS[name]))
            line += [f"{flag}={draw(words)}"] if draw(st.booleans()) else [flag, draw(words)]
        else:
            line.append(draw(words))
    return line


@fuzz(80, line=lines())
def test_a_command_line_is_obeyed_or_refused(here, line):
    before = {path.name for path in here.parent.iterdir()}
    with tried("command lines"):
        code, _, err = run_command(line)
    if code == 2:
        assert err.count("\n") == 1, err
    assert {path.name for path in here.parent.iterdir()} == before
    assert not any((here / "runs").iterdir())


GOOD = [
    (["train", "--task", "even_pairs"], 2),
    (["tasks"], 0),
    (["encodings", "--format", "json"], 0),
    (["runs"], 0),
    (["table", "table1"], 0),
    (["sweep", "pca", "--estimate"], 0),
    (["sweep", "curves", "--budget", "smoke"], 2),
]


@pytest.mark.parametrize(("line", "code"), GOOD)
def test_a_good_line_gets_as_far_as_a_test_goes(here, line, code):
    found, _, err = run_command(line)
    assert found == code
    assert code == 0 or "as far as a test goes" in err


def test_every_command_has_flags_to_try():
    assert set(FLAGS) == set(COMMANDS)
    assert "--max-length" in FLAGS["evaluate"]
    assert "--positions.maximum" in FLAGS["train"]
    assert "--test-length" in FLAGS["sweep"]

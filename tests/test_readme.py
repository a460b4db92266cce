"""What the README tells people to type works, at the size of a model that trains in a moment."""

import re
import shlex
from pathlib import Path

import pytest
from docs.found import BLOCK, found

from randpos import experiment as config
from randpos.cli.main import main
from randpos.results.findings import findings
from randpos.store.tables import read_store
from randpos.sweeps.estimate import Speed
from tests.experiments import tiny

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^ {4}(randpos [^#\n]+)", README, flags=re.MULTILINE)
TINY = tiny(steps=4)


@pytest.mark.parametrize("target", re.findall(r"^ {4}make (\S+)", README, flags=re.MULTILINE))
def test_make_target_exists(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http|\.\./\.\./actions)([^)#]+)\)", README))
def test_link_leads_somewhere(link):
    assert (ROOT / link).exists()


def test_the_numbers_are_those_of_the_committed_results():
    assert BLOCK.findall(README) == [found()]


def test_the_page_of_results_is_what_the_command_writes():
    text = findings(read_store(ROOT / "results"), Path("results"))
    assert (ROOT / "docs" / "results.md").read_text() == text


@pytest.mark.filterwarnings("ignore:the report has no figure")  # for want of other runs
def test_the_commands_work_one_after_the_other(capsys, monkeypatch, tmp_path):
    """Every budget becomes the tiny one; sweeps send their settings to the workers themselves."""
    fields = ("steps", "batch", "test_length", "positions", "model", "lengths", "evaluation")
    for name in config.PRESETS:
        monkeypatch.setitem(config.PRESETS, name, {field: getattr(TINY, field) for field in fields})
    monkeypatch.setattr("randpos.sweeps.local.measure_worker", lambda run: Speed(1e9, 1.0))
    monkeypatch.chdir(tmp_path)
    assert len(COMMANDS) >= 6
    for command in COMMANDS:
        arguments = shlex.split(command)[1:]
        if "RUN" in arguments:
            arguments[arguments.index("RUN")] = read_store(Path("runs")).runs["run"][0]
        assert main(arguments) == 0, f"{command}: {capsys.readouterr().err}"
        assert capsys.readouterr().out, command

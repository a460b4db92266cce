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
from tests.experiments import tiny

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^ {4}(randpos [^#\n]+)", README, flags=re.MULTILINE)
TINY = tiny(steps=4)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder in which all commands are typed, one after the other."""
    return tmp_path_factory.mktemp("readme")


@pytest.fixture(autouse=True)
def small(monkeypatch, place):
    """Every budget becomes the tiny one; sweeps send their settings to the workers themselves."""
    fields = {name: getattr(TINY, name) for name in ("steps", "batch", "test_length")}
    parts = {name: getattr(TINY, name) for name in ("positions", "model", "lengths", "evaluation")}
    for name in config.PRESETS:
        monkeypatch.setitem(config.PRESETS, name, {**fields, **parts})
    monkeypatch.chdir(place)


def test_there_are_commands_to_test():
    assert len(COMMANDS) >= 6


@pytest.mark.filterwarnings("ignore:the report has no figure")  # for want of other runs
@pytest.mark.parametrize("command", COMMANDS)
def test_command(command, capsys, place):
    arguments = shlex.split(command)[1:]
    if "RUN" in arguments:
        trained = read_store(place / "runs").runs["run"][0]
        arguments[arguments.index("RUN")] = trained
    assert main(arguments) == 0, capsys.readouterr().err
    assert capsys.readouterr().out


@pytest.mark.parametrize("target", re.findall(r"^ {4}make (\S+)", README, flags=re.MULTILINE))
def test_make_target_exists(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http)([^)#]+)\)", README))
def test_link_leads_somewhere(link):
    assert (ROOT / link).exists()


def test_the_numbers_are_those_of_the_committed_results():
    assert BLOCK.findall(README) == [found()]


def test_the_page_of_results_is_what_the_command_writes():
    text = findings(read_store(ROOT / "results"), Path("results"))
    assert (ROOT / "docs" / "results.md").read_text() == text

"""The command line: what it accepts, what it prints, and how it refuses."""

import dataclasses
import json
import re
import warnings
from pathlib import Path

import pytest

from randpos import TASKS, Experiment, __version__, combinations, preset
from randpos import run as runs
from randpos.cli import main as cli
from randpos.cli import training
from randpos.cli.commands import COMMANDS
from randpos.cli.main import main
from randpos.cli.parsing import parse
from randpos.experiment import PRESETS
from randpos.store.folder import Store
from randpos.store.tables import read_store
from tests.experiments import shared_engine, tiny

TINY = [
    *("--task", "reverse_string", "--encoding", "randomized-sincos", "--steps", "60"),
    *("--batch", "8", "--learning-rate", "0.01", "--test-length", "6", "--positions.maximum", "32"),
    *("--model.layers", "1", "--model.heads", "2", "--model.dim", "8", "--model.hidden", "8"),
    *("--lengths.name", "fixed", "--lengths.maximum", "4", "--evaluation.batch", "16"),
    *("--budget", "paper"),
]
HUGE = ["--test-length", "1000000", "--model.dim", "8000"]
LONG = ["--length", "10000", "--count", "101"]


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    """Runs in an empty folder, compiles into no cache, and leaves warnings as they were."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "enable_cache", lambda: None)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(runs, "Engine", shared_engine)


def refusal(capsys, *arguments: str) -> str:
    """Runs a command that must fail, and returns the one line that it says."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"randpos: [^\n]+\.\n", err), err
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "Unknown command 'trian'; did you mean 'train'?"),
        (["train", "--stpes", "5"], "--stpes"),
        (["train", "--steps", "many"], "--steps"),
        (["train", "--steps"], "--steps"),
        (["train", "--steps", "0"], "steps=0"),
        (["train", "--task", "reverse"], "Unknown task 'reverse'"),
        (["train", "--task", "nowhere:Task"], "nowhere"),
        (["train", "--encoding", "rotary"], "Unknown encoding 'rotary'"),
        (["train", "--budget", "smok"], "Unknown budget 'smok'; did you mean 'smoke'?"),
        (["runs", "list", "--status", "done"], "Unknown --status 'done'; known: complete,"),
        (["runs", "lst"], "Unknown action 'lst'; did you mean 'list'?"),
        (["train", "--preset"], "budget"),
        (["train", "--lr", "1e-3"], "no option '--lr'; did you mean --learning-rate?"),
        (["train", "--max-length", "9"], "did you mean --test-length?"),
        (["train", "--warmup", "9"], "did you mean --optimizer.warmup?"),
        (["train", "--taks", "x"], "did you mean --task?"),
        (["evaluate", "x", "--max_lenght", "9"], "did you mean --max-length?"),
        (["train", "--seeds", "1", "1"], "must not repeat"),
        (["train", "--model.heads", "7"], "heads=7 does not divide dim=64"),
        (["train", "--positions.maximum", "99"], "--positions.maximum 400"),
        (["train", "--positions.reading", "nearest"], "nearest"),
        (["train", "--test-length", "39"], "--test-length 40"),
        (
            ["train", "--model.dim", "1000000", "--model.heads", "1"],
            "make a model of 25,002,570,000,000",
        ),
        (["train", "--encoding", "learned", *HUGE], "with 2000000 positions, make a model of"),
        (["train", "--batch", "2147483647"], "batch=2147483647 is too large for 80 tokens"),
        (["train", "--evaluation.batch", "2147483647"], "evaluation.batch=2147483647 is too large"),
        (["train", "--save-every", "nan"], "save_every=nan must be a number of seconds"),
        (["train", "--format", "xml"], "xml"),
        (["evaluate"], "evaluate"),
        (["evaluate", "nothing"], "There is no run 'nothing'"),
        (["evaluate", "nothing", "more"], "more"),
        (["export", "nothing"], "There is no run 'nothing'"),
        (["tasks", "show"], "tasks show needs a name"),
        (["tasks", "show", "reverse"], "Unknown task 'reverse'"),
        (["tasks", "show", "reverse_string", "--length", str(10**9)], "must be 10,000 or less"),
        (["tasks", "show", "reverse_string", *LONG], "are more than 1,000,000 tokens"),
        (["tasks", "show", "reverse_string", "--seed", str(10**23)], "must lie between 0 and"),
        (["tasks", "dance"], "dance"),
        (["runs", "--store", "long" * 500], "File name too long"),
        (["runs", "--store", ""], "--store is empty"),
        (["report", "runs", "--out="], "--out is empty"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_a_mistake_is_one_sentence_and_exit_code_two(capsys, arguments, message):
    assert message in refusal(capsys, *arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--steps", "many"],
        ["train", "--model.heads", "7"],
        ["train", "--format", "xml"],
        ["evaluate"],
    ],
    ids=" ".join,
)
def test_a_mistake_is_said_without_the_parsers_decoration(capsys, arguments):
    said = refusal(capsys, *arguments)
    noise = ("Parsing error", "Value error", "helptext", "experiment.model", "─", "│")
    assert not any(word in said for word in noise), said


def test_a_store_that_cannot_be_written_is_one_sentence(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot be used" in refusal(capsys, "train", *TINY, "--store", "file")


def test_a_run_that_is_being_trained_is_refused(capsys, tmp_path):
    lock = Store(tmp_path / "runs").run(tiny()).lock()
    assert "is being trained by another process" in refusal(capsys, "train", *TINY)
    lock.release()


# What is read from the command line.


def experiment_of(*arguments: str) -> Experiment:
    command = parse("train", arguments, training.Train)
    assert isinstance(command, training.Train)
    return command.experiment


def test_without_flags_the_budget_is_a_laptops():
    assert experiment_of() == preset("laptop")
    assert experiment_of("--budget", "paper") == Experiment()


def test_a_budget_sets_the_defaults():
    for name in PRESETS:
        assert experiment_of("--budget", name) == preset(name)
    assert experiment_of("--budget=smoke") == experiment_of("--preset", "smoke") == preset("smoke")


def test_a_flag_overrides_a_budget():
    wanted = dataclasses.replace(preset("smoke"), steps=7)
    assert experiment_of("--steps", "7", "--preset", "smoke") == wanted


def test_every_field_is_a_flag():
    assert experiment_of(*TINY) == tiny()


def fields(data: dict, prefix: str = "") -> list[str]:
    """The dotted names of all fields of an experiment."""
    names = []
    for name, value in data.items():
        inner = isinstance(value, dict)
        names += fields(value, f"{prefix}{name}.") if inner else [prefix + name]
    return names


def test_help_explains_every_field(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["train", "--help"])
    assert not stop.value.code
    text = capsys.readouterr().out
    for name in fields(Experiment().to_dict()):
        flag = "--" + name.replace("_", "-")
        assert flag in text
    for noise in ("(default: )", "(default: None)", "{None}", " STR\n"):
        assert noise not in text


def test_every_command_has_help(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command in COMMANDS:
        with pytest.raises(SystemExit) as stop:
            main([*command.split(), "--help"])
        assert not stop.value.code
        text = capsys.readouterr().out
        assert f"randpos {command}" in text
        assert max(map(len, text.splitlines())) <= 80
        assert not re.search("^│ +│$", text, flags=re.MULTILINE)


def test_help_flows_over_the_line_breaks_of_the_source(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    for command, words in (
        ("sweep", "By default laptop; in a grid file"),
        ("evaluate", "as far as the encoding permits"),
        ("runs", "of a --status, --task or --encoding; without"),
    ):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert words in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"]])
def test_alone_it_lists_the_commands(capsys, arguments):
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert all(f"  {name}" in text for name in COMMANDS)


def test_it_tells_its_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


# What is printed.


def test_tasks_as_json_are_all_tasks(capsys):
    assert main(["tasks", "--format", "json"]) == 0
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} == set(TASKS)


def test_encodings_as_json_are_all_combinations(capsys):
    assert main(["encodings", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(combinations())
    assert rows["none"]["parameters"] == 249_026
    assert rows["relative"]["parameters"] == 270_146


def test_examples_as_json(capsys):
    assert main(["tasks", "show", "reverse_string", "--count", "2", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2


@pytest.mark.parametrize("arguments", [["tasks"], ["encodings"], ["tasks", "show", "even_pairs"]])
def test_listings_as_text_are_not_empty(capsys, arguments):
    assert main(arguments) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 5


def test_train_then_evaluate(capsys):
    arguments = ["train", *TINY, "--seeds", "0", "1"]
    assert main([*arguments, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    rows = json.loads(out)
    assert [row["seed"] for row in rows] == [0, 1]
    assert "steps/s" in err
    assert "loss" in err
    for row in rows:
        points = {point["length"]: point["accuracy"] for point in row["accuracies"]}
        assert list(points) == [1, 2, 3, 4, 5, 6]
        assert row["score"] == pytest.approx((points[5] + points[6]) / 2)
        assert row["in_domain"] == pytest.approx(sum(points[n] for n in range(1, 5)) / 4)

    # The same command again trains and tests nothing; text shows table, accuracies and curve.
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "steps/s" not in err
    assert "randpos evaluate" in err
    assert "longest training length N=4" in out
    assert f"{100 * rows[0]['score']:.1f}" in out

    run = rows[0]["run"]
    test = ["evaluate", run, "--batch", "16"]
    assert main([*test, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == rows[:1]
    # A mean over a part of the lengths is no score.
    assert main([*test, "--max-length", "5", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["score"] is None
    assert row["in_domain"] == rows[0]["in_domain"]
    assert main([*test, "--max-length", "5"]) == 0
    assert "up to 5; the score needs all up to M=6" in capsys.readouterr().out
    said = refusal(capsys, "evaluate", run, "--batch", "2147483647")
    assert "evaluation.batch=2147483647 is too large for 12 tokens" in said
    # With several draws the accuracies have an error; they are kept apart from those with one.
    assert main([*test, "--draws", "4", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert all(point["error"] is not None for point in row["accuracies"])
    drawn = read_store(Path("runs")).accuracies.filter(run=run)["draws"]
    assert sorted(drawn.unique()) == [1, 4]
    assert "evaluation.draws=17 must lie between" in refusal(capsys, *test, "--draws", "17")
    # Shorter than the training length, which then cannot be marked.
    assert main([*test, "--max-length", "2"]) == 0
    assert "–" in capsys.readouterr().out
    # Longer than planned: the score stays the mean over N+1..M.
    assert main([*test, "--max-length", "8", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert [point["length"] for point in row["accuracies"]] == list(range(1, 9))
    assert row["score"] == rows[0]["score"]
    assert "pass 16 or less" in refusal(capsys, *test, "--max-length", "17")


@pytest.mark.filterwarnings("default:.*diverged:UserWarning")
def test_a_diverged_member_is_shown_beside_the_others(capsys):
    rates = ["--rates", "0.01", "1e30"]
    assert main(["train", *TINY, *rates, "--evaluation.stride", "6", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["status"] for row in rows] == ["complete", "diverged"]
    assert (rows[1]["score"], rows[1]["accuracies"]) == (None, [])
    assert main(["train", *TINY, *rates, "--evaluation.stride", "6"]) == 0
    assert "diverged" in capsys.readouterr().out
    assert "diverged at step" in refusal(capsys, "evaluate", rows[1]["run"])


def test_without_evaluation_nothing_is_tested(capsys, tmp_path):
    assert main(["train", *TINY, "--no-evaluate"]) == 0
    assert capsys.readouterr().out == ""
    assert not list(tmp_path.rglob("*.parquet"))
    assert (tmp_path / "runs" / tiny().digest / "model.safetensors").exists()


def test_a_folder_that_is_gone_is_no_place_for_a_task(capsys, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir("gone")
    (tmp_path / "gone").rmdir()
    assert "there is no module 'mine'" in refusal(capsys, "tasks", "show", "mine:Task")

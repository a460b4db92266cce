"""`randpos sweep` without sweeping, and `randpos runs`."""

import json
import re

import pytest

from randpos import preset
from randpos.cli import main as cli
from randpos.cli.main import main
from randpos.store.folder import Store
from randpos.store.tables import read_store
from randpos.sweeps import local
from randpos.sweeps.estimate import Speed, cost
from tests.experiments import tiny
from tests.sweeps.processes import GRID
from tests.sweeps.synthetic import write_run


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    """Runs in an empty folder with a grid file, measures nothing, and keeps no cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "enable_cache", lambda: None)
    monkeypatch.setattr("warnings.showwarning", lambda *_: None)
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
    monkeypatch.setattr(local, "measure_worker", lambda run: Speed(2e9, 8.0))
    (tmp_path / "grid.toml").write_text(GRID.format(steps=60, seeds=list(range(6))))
    return tmp_path


def run_json(capsys, *arguments: str):
    """What a command prints as JSON."""
    assert main([*arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys, *arguments: str) -> str:
    """Runs a command that must fail, and returns the one line that it says."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"randpos: [^\n]+\.\n", err), err
    return err


@pytest.fixture
def store(tmp_path):
    """Seeds 0 and 1 are tested, 2 diverged, 3 failed, 4 is under way; 5 is not there."""
    folder = tmp_path / "runs"
    write_run(folder, tiny(seed=0))
    write_run(folder, tiny(seed=1))
    write_run(folder, tiny(seed=2), "diverged")
    write_run(folder, tiny(seed=3), "failed", reason="no [bold]luck[/x]\x1b[31m")
    write_run(folder, tiny(seed=4), "unfinished")
    return folder


# What a sweep would do.


def test_a_dry_run_tells_what_is_missing_and_writes_nothing(capsys, store):
    before = sorted(store.rglob("*"))
    (row,) = run_json(capsys, "sweep", "grid.toml", "--dry-run", "--workers", "2")
    names = ("runs", "done", "failed", "missing", "programs", "workers")
    assert [row[name] for name in names] == [6, 3, 1, 2, 1, 2]
    price = cost([tiny(seed=4), tiny(seed=5)])
    assert row["working_seconds"] == pytest.approx(price.operations / 2e9 / 2)
    assert row["compiling_seconds"] > 8.0  # one program for training, and those for testing
    assert [line.split()[0] for line in row["missing_runs"]] == [
        tiny(seed=seed).digest for seed in (4, 5)
    ]
    assert row["disk_gb"] == pytest.approx(price.disk / 1e9)
    assert sorted(store.rglob("*")) == before


def test_a_dry_run_of_a_retry_counts_the_failed_and_forgives_nothing(capsys, store):
    (row,) = run_json(capsys, "sweep", "grid.toml", "--dry-run", "--retry-failed")
    assert (row["failed"], row["missing"]) == (0, 3)
    assert Store(store).run(tiny(seed=3)).failure()


def test_a_dry_run_as_text_lists_the_first_and_last_runs(capsys):
    arguments = ("--seeds", *map(str, range(20)), "--steps", "60")
    assert main(["sweep", "grid.toml", "--dry-run", *arguments]) == 0
    out = capsys.readouterr().out
    listed = [tiny(seed=seed).digest for seed in (0, 1, 2, 17, 18, 19)]
    assert [line.split()[0] for line in out.splitlines() if " seed " in line] == listed
    assert "14 more" in out


def test_a_dry_run_of_nothing_measures_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(local, "measure_worker", None)
    for seed in range(6):
        write_run(tmp_path / "runs", tiny(seed=seed))
    (row,) = run_json(capsys, "sweep", "grid.toml", "--dry-run")
    assert (row["missing"], row["working_seconds"], row["compiling_seconds"]) == (0, 0, 0)


PAPER = ("--budget", "paper", "--tasks", "even_pairs", "--seeds", "0")


def test_an_estimate_divides_the_hours_among_accelerators(capsys):
    rows = run_json(capsys, "sweep", "table1", "--estimate", *PAPER)
    assert [row["accelerators"] for row in rows] == [1, 8, 64]
    assert {row["runs"] for row in rows} == {11 * 3}
    hours = [row["hours"] for row in rows]
    assert hours[0] == pytest.approx(8 * hours[1])
    assert hours[0] == pytest.approx(64 * hours[2])
    work = rows[0]["petaflop_training"] + rows[0]["petaflop_testing"]
    assert hours[0] == pytest.approx(work * 1e6 / rows[0]["gflops_each"] / 3600)
    assert main(["sweep", "grid.toml", "--estimate"]) == 0
    assert "hours" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table9"], "Unknown experiment 'table9'; did you mean 'table1'?"),
        (["nowhere.toml"], "nowhere.toml cannot be used: No such file or directory"),
        (["table1", "--tasks", "reverse"], "Unknown task 'reverse'"),
        (["table1", "--rates", "0"], "learning_rate=0.0 must be a positive number"),
        (["table1", "--budget", "huge"], "huge"),
        (["grid.toml", "--workers", "0"], "--workers 0 must be at least 1"),
        (["grid.toml", "--members", "0"], "--members 0 must be at least 1"),
        (["grid.toml", "--save-every", "nan"], "save_every=nan must be a number of seconds"),
        (["grid.toml", "--executor", "slurm"], "slurm"),
        ([], "randpos sweep needs NAME"),
    ],
)
def test_a_mistake_is_one_sentence(capsys, arguments, message):
    assert message in refusal(capsys, "sweep", *arguments)


def test_the_budget_is_said_unless_it_was_chosen(capsys):
    line = ["sweep", "table1", "--tasks", "even_pairs", "--estimate"]
    assert main(line) == 0
    assert "budget laptop: 2,000 steps of 32" in capsys.readouterr().err
    assert main([*line, "--budget", "smoke"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["sweep", "grid.toml", "--estimate"]) == 0
    assert "settings that grid.toml does not name are the paper's" in capsys.readouterr().err


# What a store holds.


def test_list_tells_every_run(capsys, store):
    rows = {row["seed"]: row for row in run_json(capsys, "runs", "list")}
    assert [rows[s]["status"] for s in range(5)] == [
        *("complete", "complete", "diverged", "failed", "unfinished")
    ]
    assert rows[3]["reason"] == "no [bold]luck[/x]\x1b[31m"
    assert rows[0]["run"] == tiny().digest
    # The mean over the lengths 5 and 6 is higher for seed 1: see `accuracies`.
    listed = run_json(capsys, "runs", "--status", "complete")
    assert [row["seed"] for row in listed] == [1, 0]
    assert [row["score"] for row in listed] == [
        pytest.approx((2 / 7 + 2 / 8) / 2),
        pytest.approx((1 / 6 + 1 / 7) / 2),
    ]
    assert listed[1]["in_domain"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4)
    assert {rows[s]["score"] for s in (2, 3, 4)} == {None}


@pytest.fixture
def mixed(store):
    """The store with runs of another task and another encoding."""
    write_run(store, tiny(task="even_pairs"))
    write_run(store, tiny(task="even_pairs", encoding="none"))
    return store


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (["--task", "even_pairs"], 2),
        (["--task", "even_pairs", "reverse_string"], 7),
        (["--encoding", "none"], 1),
        (["--task", "even_pairs", "--encoding", "randomized-sincos"], 1),
        (["--task", "reverse_string", "--status", "complete"], 2),
        (["--task", "even_pairs", "--status", "failed"], 0),
    ],
)
def test_filters_apply_to_list_prune_and_pack(capsys, mixed, filters, count):
    listed = {row["run"] for row in run_json(capsys, "runs", "list", *filters)}
    assert len(listed) == count
    assert main(["runs", "prune", *filters]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.rpartition("/")[2] for line in lines if line.startswith("would")} == listed
    assert main(["runs", "pack", "small", *filters]) == 0
    capsys.readouterr()
    assert {row["run"] for row in run_json(capsys, "runs", "--store", "small")} == listed


@pytest.mark.parametrize(
    ("filters", "message"),
    [(["--task", "solve_equation"], "solve_equation"), (["--encoding", "rop"], "'rope'")],
)
def test_a_filter_that_fits_no_run_is_refused(capsys, mixed, filters, message):
    assert message in refusal(capsys, "runs", "list", *filters)


def test_text_shows_names_as_they_are_and_no_commands_to_the_terminal(capsys, store):
    assert main(["runs"]) == 0
    out = capsys.readouterr().out
    assert "5 runs" in out
    assert "no [bold]luck[/x]�[31m" in "".join(out.split("\n")).replace("│", "")
    assert "\x1b[31m" not in out


def test_show_tells_everything_of_one_run(capsys, store):
    experiment = tiny(seed=1)
    (row,) = run_json(capsys, "runs", "show", experiment.digest[:6])
    assert row["config"] == experiment.to_dict()
    assert row["environment"]["backend"] == "cpu"
    assert [point["length"] for point in row["accuracies"]] == [1, 2, 3, 4, 5, 6]
    assert row["accuracies"][0]["accuracy"] == pytest.approx(2 / 3)
    assert main(["runs", "show", experiment.digest]) == 0
    out = capsys.readouterr().out
    assert "positions.maximum" in out
    assert "packages.jax" in out
    # In percent, as `train` prints it.
    assert re.search(rf"score +{100 * (2 / 7 + 2 / 8) / 2:.1f}\s", out)
    assert "● batch 16, seed 0, draws 1" in out
    assert re.search(r"length +accuracy % +whole %", out)


@pytest.mark.parametrize(
    ("name", "message"), [("", "fits 5 runs"), ("xyz", "There is no run 'xyz'")]
)
def test_show_needs_one_run(capsys, store, name, message):
    assert message in refusal(capsys, "runs", "show", name)


def test_prune_removes_only_when_asked_and_only_that_status(capsys, store):
    assert "needs --status, --task or --encoding" in refusal(capsys, "runs", "prune", "--yes")
    folder = store / tiny(seed=3).digest
    assert main(["runs", "prune", "--status", "failed"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"would remove runs/{folder.name}")
    assert out.endswith("pass --yes to do it.\n")
    assert len(read_store(store).runs) == 5
    assert main(["runs", "prune", "--status", "failed", "--yes"]) == 0
    assert capsys.readouterr().out == f"removed runs/{folder.name}\n"
    assert sorted(read_store(store).runs["seed"]) == [0, 1, 2, 4]


def test_prune_keeps_a_run_in_progress(capsys, store):
    write_run(store, tiny(seed=5), "unfinished")
    lock = Store(store).run(tiny(seed=4)).lock()
    assert main(["runs", "prune", "--status", "unfinished", "--yes"]) == 0
    lock.release()
    out = capsys.readouterr().out
    assert f"kept runs/{tiny(seed=4).digest}: " in out
    assert f"removed runs/{tiny(seed=5).digest}\n" in out


def test_pack_makes_a_store_that_lists_the_same(capsys, store, tmp_path):
    before = run_json(capsys, "runs")
    assert main(["runs", "pack", "small"]) == 0
    assert capsys.readouterr().out == "5 runs packed into small\n"
    assert run_json(capsys, "runs", "--store", "small") == before
    assert run_json(capsys, "runs", "show", tiny().digest, "--store", "small") == run_json(
        capsys, "runs", "show", tiny().digest
    )
    assert "needs a folder" in refusal(capsys, "runs", "pack")
    # What is packed has no folder to remove.
    assert main(["runs", "prune", "--status", "failed", "--yes", "--store", "small"]) == 0
    assert run_json(capsys, "runs", "--store", "small") == before


def test_pack_may_keep_some_runs_whole(store, tmp_path):
    assert main(["runs", "pack", "small", "--keep", tiny().digest[:8]]) == 0
    assert [path.name for path in (tmp_path / "small").iterdir() if path.is_dir()] == [
        tiny().digest
    ]


def test_a_store_that_is_not_there_is_one_sentence(capsys):
    assert "nowhere is not a store of runs" in refusal(capsys, "runs", "--store", "nowhere")


def test_the_budget_of_a_named_experiment_is_the_presets(capsys):
    (row,) = run_json(capsys, "sweep", "pca", "--dry-run", "--budget", "smoke")
    assert row["runs"] == 2
    assert preset("smoke").steps == 20

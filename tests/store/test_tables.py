"""A store as tables: exact, and damaged runs and files are left out with a warning."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from randpos import UserError
from randpos.bits import VERSION
from randpos.cli.main import main
from randpos.store.accuracies import accuracies_path
from randpos.store.folder import Store
from randpos.store.tables import RUNS, read_store
from tests.experiments import tiny
from tests.sweeps import synthetic
from tests.sweeps.synthetic import CURVE, accuracies

ALL = list(range(1, 7))
FULL = {"batch": 16, "seed": 0, "draws": 1, "numerics": VERSION}
"""How runs are tested by default."""


def test_every_run_and_every_accuracy_is_there_exactly(store):
    runs, tested, _ = read_store(store)
    assert list(runs.schema.items()) == list(RUNS.items())
    found = {row["seed"]: row for row in runs.to_dicts()}
    states = ["complete"] * 3 + ["diverged", "failed", "unfinished"]
    assert [found[seed]["status"] for seed in range(6)] == states
    assert [found[seed]["reason"] for seed in range(6)] == [*[None] * 4, "no [bold]luck", None]
    assert [found[seed]["step"] for seed in range(6)] == [60, 60, 60, 60, None, None]
    assert json.loads(found[2]["curve"]) == list(map(list, CURVE))
    assert found[0]["seconds"] == 1.5
    want = [
        *((FULL | {"run": tiny(seed=s).digest}, s, ALL) for s in range(3)),
        (FULL | {"batch": 5, "seed": 9, "run": tiny(seed=1).digest}, 7, [2, 6]),
    ]
    rows = [way | a._asdict() for way, seed, lengths in want for a in accuracies(seed, lengths)]
    key = lambda row: (row["run"], row["batch"], row["seed"], row["length"])  # noqa: E731
    assert tested.to_dicts() == [
        {name: row[name] for name in tested.columns} for row in sorted(rows, key=key)
    ]


def test_a_row_tells_the_experiment_again(store):
    records = read_store(store)
    for seed in range(6):
        assert records.experiment(tiny(seed=seed).digest) == tiny(seed=seed)
    row = records.runs.row(by_predicate=pl.col("seed") == 2, named=True)
    first = tiny(seed=2)
    assert (row["run"], row["task"], row["encoding"]) == (first.digest, first.task, first.encoding)
    assert (row["steps"], row["batch"], row["learning_rate"]) == (60, 8, 1e-2)
    assert (row["training_length"], row["test_length"], row["maximum"]) == (4, 6, 32)
    assert (row["reading"], row["draw"]) == ("positions", "per_batch")


def test_an_empty_store_has_empty_tables(tmp_path):
    runs, tested, _ = read_store(tmp_path)
    assert (len(runs), len(tested)) == (0, 0)


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_what_is_no_folder_is_refused(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=f"{name} is not a store of runs"):
        read_store(tmp_path / name)


# Damage.


def harm(store: Path, seed: int, name: str, content: str | bytes) -> None:
    path = Store(store).run(tiny(seed=seed)).path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def config(**changes) -> str:
    data = tiny().to_dict() | changes
    return json.dumps({"format": 1, "digest": tiny().digest, "experiment": data})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", ""),
        ("config.json", "[" * 100_000),
        ("config.json", config(seed=1)),  # which is another run
        ("config.json", config(learning_rate=float("nan"))),
        ("config.json", config(task="/etc:passwd\ud800")),
        ("result.json", "{"),
        ("result.json", f'{{"status": "complete", "step": {10**30}}}'),
        ("environment.json", "{"),
        ("failure.json", "{"),
    ],
)
def test_a_damaged_run_is_left_out_and_named(store, name, content):
    harm(store, 0, name, content)
    with pytest.warns(UserWarning, match=f"left out: .*{tiny().digest}") as warned:
        runs, tested, _ = read_store(store)
    assert len(warned) == 1
    assert sorted(runs["seed"]) == [1, 2, 3, 4, 5]
    assert tiny().digest not in tested["run"]


def test_huge_steps_are_left_out_even_under_their_true_name(store):
    first = tiny()
    object.__setattr__(first, "steps", 10**30)
    folder = Store(store).run(first)
    folder.create(first)
    with pytest.warns(UserWarning, match=f"{first.digest}.*steps=1000"):
        assert len(read_store(store).runs) == 6


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_a_damaged_parquet_is_left_out_and_named(store, content):
    path = accuracies_path(Store(store).run(tiny()).path, tiny())
    path.write_bytes(content)
    with pytest.warns(UserWarning, match=f"left out: {path} is damaged") as warned:
        runs, tested, _ = read_store(store)
    assert len(warned) == 1
    assert len(runs) == 6
    assert set(tested["run"]) == {tiny(seed=1).digest, tiny(seed=2).digest}


def test_a_parquet_of_other_columns_is_left_out_and_named(store):
    path = accuracies_path(Store(store).run(tiny()).path, tiny())
    pl.DataFrame({"length": ["one"]}).write_parquet(path)
    with pytest.warns(UserWarning, match=f"left out: {path} is damaged"):
        assert tiny().digest not in read_store(store).accuracies["run"]


@pytest.mark.parametrize("share", [1e308, -0.1, float("nan"), float("inf"), None])
def test_impossible_accuracies_are_left_out_and_named(store, share):
    path = accuracies_path(Store(store).run(tiny()).path, tiny())
    table = pl.read_parquet(path)
    wrong = pl.when(pl.col("length") == 3).then(share).otherwise("accuracy").alias("accuracy")
    table.with_columns(wrong).cast(table.schema).write_parquet(path)
    with pytest.warns(UserWarning, match=f"left out: 1 impossible rows .*{tiny().digest}"):
        tested = read_store(store).accuracies
    left = tested.filter(run=tiny().digest)["length"].to_list()
    assert left == [n for n in ALL if n != 3]


def test_looking_at_a_store_imports_nothing_that_it_names(tmp_path, monkeypatch):
    """A config may name a user's task whose module is in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("hostile.py").write_text("raise SystemExit('executed')")
    data = tiny().to_dict() | {"task": "hostile:Task"}
    first = tiny()
    object.__setattr__(first, "task", "hostile:Task")
    folder = tmp_path / "runs" / first.digest
    folder.mkdir(parents=True)
    text = {"format": 1, "digest": first.digest, "experiment": data}
    (folder / "config.json").write_text(json.dumps(text))
    runs, *_ = read_store(tmp_path / "runs")
    assert runs["task"].to_list() == ["hostile:Task"]
    assert "hostile" not in sys.modules


# A newer format.


@pytest.mark.parametrize("command", [["runs", "show"], ["evaluate"]])
@pytest.mark.filterwarnings("default:left out:UserWarning")
def test_a_run_of_a_newer_format_is_listed_with_a_warning_and_else_refused(
    store, capsys, monkeypatch, command
):
    monkeypatch.setattr("warnings.showwarning", lambda *_: None)
    monkeypatch.setattr("randpos.cli.main.enable_cache", lambda: None)
    harm(store, 0, "config.json", '{"format": 99, "experiment": {}}')
    assert main(["runs", "list", "--store", str(store), "--format", "json"]) == 0
    output = capsys.readouterr()
    assert sorted(row["seed"] for row in json.loads(output.out)) == [1, 2, 3, 4, 5]
    assert f"{tiny().digest} was written in format 99" in output.err
    assert main([*command, tiny().digest, "--store", str(store)]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "was written in format 99" in said
    assert "install a newer randpos" in said


# Thousands.

READ = """
import sys, time
from pathlib import Path
from randpos.store.tables import read_store
began = time.perf_counter()
records = read_store(Path(sys.argv[1]))
seconds = time.perf_counter() - began
print(len(records.runs), len(records.accuracies), records.accuracies["accuracy"].sum())
# Not ru_maxrss, which counts what the process that this one was forked from held.
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
print(status['VmHWM'].split()[0], seconds)
"""


@pytest.mark.slow
def test_six_thousand_runs_of_five_hundred_lengths_fit_into_a_gigabyte(tmp_path):
    # In processes of their own, where no types are checked and memory is counted alone.
    subprocess.run([sys.executable, "-m", synthetic.__name__, tmp_path, "6000"], check=True)
    line = [sys.executable, "-c", READ, tmp_path]
    output = subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()
    assert output[:2] == ["6000", "3000000"]
    seeds, lengths = np.arange(1000)[:, None], np.arange(1, 501)
    total = 6 * np.sum((seeds + 1) / (lengths + seeds + 1))
    assert float(output[2]) == pytest.approx(total, rel=1e-9)
    assert int(output[3]) < 2**20  # kilobytes
    print(f"read in {float(output[4]):.1f} s")

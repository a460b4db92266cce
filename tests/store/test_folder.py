"""Run folders: what they hold, and how they are found."""

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest

from randpos import Experiment, UserError
from randpos.store.environment import environment
from randpos.store.folder import RunFolder, Store
from randpos.store.result import CurvePoint, Result
from tests.experiments import tiny


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    """A run that has not begun."""
    run = Store(tmp_path).run(tiny())
    run.create(tiny())
    return run


def test_the_experiment_reads_back(folder):
    assert folder.path.name == tiny().digest
    assert folder.experiment() == tiny()


def test_a_folder_is_created_once(folder):
    before = (folder.path / "config.json").stat()
    folder.create(tiny())
    assert (folder.path / "config.json").stat() == before


def test_the_environment_names_versions_device_and_commit():
    found = environment()
    assert found["packages"]["jax"].count(".") == 2
    assert found["backend"] == "cpu"
    head = subprocess.run(
        ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"],
        capture_output=True,
        text=True,
    )
    # The tests may also run from a source archive.
    assert found["commit"] == (head.stdout.strip() if head.returncode == 0 else None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "damaged"),
        ("[]", "names no format"),
        ('{"format": "1"}', "names no format"),
        ('{"format": 99}', "was written in format 99.*install a newer randpos"),
        ('{"format": 1}', "experiment must be a table"),
        ('{"format": 1, "experiment": {"stpes": 1}}', "no field 'stpes'"),
    ],
)
def test_a_damaged_config_is_named(folder, content, message):
    (folder.path / "config.json").write_text(content)
    with pytest.raises(UserError, match=message):
        folder.experiment()


def test_another_folder_is_not_a_run(tmp_path):
    with pytest.raises(UserError, match="is not a run"):
        RunFolder(tmp_path).experiment()


# Results and failures.

RESULT = Result("complete", 60, 0.5, (CurvePoint(30, 0.7, 0.5), CurvePoint(60, 1e-6, 1.0)))


def test_a_result_reads_back_and_decides_the_status(folder):
    assert (folder.result(), folder.status()) == (None, "unfinished")
    folder.fail("no memory")
    assert (folder.failure(), folder.status()) == ("no memory", "failed")
    folder.finish(RESULT)
    assert (folder.result(), folder.status()) == (RESULT, "complete")


def test_a_cleared_failure_is_gone(folder):
    folder.fail("no memory")
    folder.clear_failure()
    folder.clear_failure()
    assert (folder.failure(), folder.status()) == (None, "unfinished")


WRONG = {
    "status": ["unknown", None, 1],
    "step": ["many", None, True, -1, 1.5, 2**63, float("nan")],
    "seconds": ["long", None, True, -1.0, float("nan"), float("inf"), 10**400],
    "curve": [
        None,
        {},
        [[1, 0.5]],
        [[1, 0.5, 0.5, 0.5]],
        [["1", 0.5, 0.5]],
        [[1, float("nan"), 0.5]],
        [[1, 0.5, 1.5]],
        [None],
    ],
}


def test_a_damaged_result_is_named(folder):
    folder.finish(RESULT)
    path = folder.path / "result.json"
    good = json.loads(path.read_text())
    wrong = [good | {name: value} for name, values in WRONG.items() for value in values]
    for data in ([], {}, None, *wrong):
        path.write_text(json.dumps(data))
        with pytest.raises(UserError, match=r"result\.json is damaged"):
            folder.result()


# Lines.


def rows(count: int) -> list[dict[str, float]]:
    return [{"step": 100 * (i + 1), "loss": 1 / (i + 1)} for i in range(count)]


def test_lines_read_back(folder):
    assert folder.lines("metrics.jsonl") == []
    for row in rows(3):
        folder.append("metrics.jsonl", row)
    assert folder.lines("metrics.jsonl") == rows(3)


@pytest.mark.parametrize(
    "tail",
    [
        *("{", '{"step": 30', "7\n", "\x00\x00\n", '{"step"\n{"step": 9}\n'),
        *('{"loss": 1.0}\n', '{"step": "4"}\n', '{"step": true}\n', '{"step": 4, "loss": null}\n'),
        *('{"step": 4, "loss": NaN}\n', '{"step": 4, "loss": [1.0]}\n'),
        f'{{"step": 4, "loss": {10**30}}}\n{{"step": 9}}\n',
    ],
)
def test_lines_end_before_one_that_is_not_a_row_of_numbers(folder, tail):
    folder.append("metrics.jsonl", rows(1)[0])
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write(tail)
    assert folder.lines("metrics.jsonl") == rows(1)


@pytest.mark.parametrize(("step", "left"), [(0, 0), (99, 0), (100, 1), (250, 2), (900, 3)])
def test_rewinding_drops_later_steps_and_incomplete_lines(folder, step, left):
    for row in rows(3):
        folder.append("metrics.jsonl", row)
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4')
    folder.rewind("metrics.jsonl", step)
    text = (folder.path / "metrics.jsonl").read_text()
    assert text == "".join(json.dumps(row) + "\n" for row in rows(left))


def test_a_full_disk_is_a_sentence(folder, monkeypatch):
    def fail(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(UserError, match=r"metrics\.jsonl cannot be used: No space left on device"):
        folder.append("metrics.jsonl", {"step": 1})


# Links: nothing is written outside of the store.


@pytest.mark.parametrize("name", ["evaluation", "checkpoints"])
def test_a_run_with_a_linked_folder_is_refused(folder, tmp_path, name):
    (folder.path / name).symlink_to(tmp_path)
    with pytest.raises(UserError, match=f"{name} is a link"):
        folder.experiment()


def test_a_linked_run_is_refused_in_a_store_but_not_when_it_is_named(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / tiny().digest).symlink_to(folder.path)
    with pytest.raises(UserError, match="is a link"):
        Store(other).run(tiny()).experiment()
    found = Store(other).find(str(other / tiny().digest))
    assert found.path == folder.path
    assert found.experiment() == tiny()


def test_lines_are_not_appended_through_a_link(folder, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (folder.path / "metrics.jsonl").symlink_to(outside)
    with pytest.raises(UserError, match=r"metrics\.jsonl cannot be used"):
        folder.append("metrics.jsonl", {"step": 1})
    assert outside.read_text() == "precious"


# Finding runs.


@pytest.fixture
def two(tmp_path) -> list[Experiment]:
    """Two runs in a store, beside other files and folders."""
    made = [tiny(seed=seed) for seed in (0, 1)]
    for experiment in made:
        Store(tmp_path).run(experiment).create(experiment)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes.txt").write_text("")
    return sorted(made, key=lambda experiment: experiment.digest)


def test_a_store_lists_its_runs(tmp_path, two):
    assert [run.experiment() for run in Store(tmp_path).runs()] == two
    assert list(Store(tmp_path / "nowhere").runs()) == []


def test_a_run_is_found_by_its_folder_or_the_beginning_of_its_digest(tmp_path, two):
    for name in (two[0].digest, two[0].digest[:6]):
        assert Store(tmp_path).find(name).experiment() == two[0]
    path = str(tmp_path / two[1].digest)
    assert Store(Path("elsewhere")).find(path).experiment() == two[1]


@pytest.mark.parametrize(("name", "message"), [("", "fits 2 runs"), ("xyz", "no run 'xyz'")])
def test_a_name_that_does_not_fit_one_run_is_refused(tmp_path, two, name, message):
    with pytest.raises(UserError, match=message):
        Store(tmp_path).find(name)

"""Nothing that is read can run: the source has no way to, and a store's names are not imported."""

import ast
import json
import sys
from pathlib import Path

import pytest

import randpos
from tests.experiments import tiny
from tests.fuzz.commands import run_command
from tests.fuzz.inputs import json_bytes

SOURCES = sorted(Path(randpos.__file__).parent.rglob("*.py"))
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "yaml"}
CALLS = {"eval", "exec", "compile", "__import__", "execfile"}

LOADERS = {"np.load", "numpy.load", "torch.load", "os.system", "os.popen"}
"""NumPy reads pickles if told to, PyTorch unless told not to."""


def runs_data(node: ast.AST) -> bool:
    """Whether a statement or call could run what it reads."""
    match node:
        case ast.Import(names=names):
            return any(name.name.split(".")[0] in MODULES for name in names)
        case ast.ImportFrom(module=module):
            return (module or "").split(".")[0] in MODULES
        case ast.Call(func=called, keywords=keywords):
            loads = {word.arg for word in keywords} & {"allow_pickle", "shell"}
            if isinstance(called, ast.Name):
                return bool(loads) or called.id in CALLS
            return bool(loads) or ast.unparse(called) in LOADERS
    return False


def test_no_source_has_a_way_to_run_data():
    found = [
        f"{path.name}:{node.lineno}"  # pyright: ignore[reportAttributeAccessIssue]
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if runs_data(node)
    ]
    assert found == []


def test_a_way_to_run_data_would_be_found():
    for text in ("import pickle", "from yaml import x", "eval(x)", "np.load(f)", "f(shell=True)"):
        assert any(map(runs_data, ast.walk(ast.parse(text)))), text


@pytest.mark.parametrize(
    "command",
    [
        ["runs", "list"],
        ["runs", "show", ""],
        ["runs", "pack", "packed"],
        ["table", "table1"],
        ["report", "--figures"],
    ],
    ids=" ".join,
)
def test_looking_at_a_store_imports_no_task_that_it_names(tmp_path, monkeypatch, command):
    """Only training, testing and exporting such a run do, as its owner asked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("randpos.cli.main.enable_cache", lambda: None)
    Path("hostile.py").write_text("raise BaseException('executed')")
    experiment = tiny()
    object.__setattr__(experiment, "task", "hostile:Task")
    folder = Path("runs") / experiment.digest
    folder.mkdir(parents=True)
    config = {"format": 1, "digest": experiment.digest, "experiment": experiment.to_dict()}
    (folder / "config.json").write_bytes(json_bytes(config))
    (folder / "result.json").write_text(
        json.dumps({"status": "complete", "step": 60, "seconds": 1.0, "curve": []})
    )
    where = [] if command[0] == "report" else ["--store", "runs"]
    code, _, err = run_command([*command, *where])
    assert code == 0, err
    assert "hostile" not in sys.modules

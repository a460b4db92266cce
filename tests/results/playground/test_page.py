"""The playground as a file: safe and small; and the runs that it refuses."""

import base64
import dataclasses
import hashlib
import json
import re
import zlib
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np
import pytest

from randpos import Experiment, PositionOptions, UserError
from randpos.cli.main import main
from randpos.export import torch_arrays
from randpos.results.playground import Player, make_playground
from tests.experiments import random_model, tiny
from tests.results.playground.players import Variant


def test_the_policy_allows_the_pages_own_scripts_only() -> None:
    page = make_playground([Variant("none").player("even_pairs")])
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'none'"
    assert rules["worker-src"] == "blob:"
    assert "unsafe" not in policy[1]
    styles = re.findall(r"<style>(.*?)</style>", page, re.S)
    scripts = re.findall(r'<script(?: id="engine")?>(.*?)</script>', page, re.S)
    for kind, parts in (("style-src", styles), ("script-src", scripts)):
        hashes = [base64.b64encode(hashlib.sha256(p.encode()).digest()).decode() for p in parts]
        assert rules[kind].split() == [f"'sha256-{value}'" for value in hashes]


def test_weights_read_back_in_half_precision() -> None:
    player = Variant("relative").player("even_pairs")
    page = make_playground([player])
    text = re.search(r'id="weights-0">(.*?)</script>', page)
    about = re.search(r'id="about-data">(.*?)</script>', page)
    assert text is not None
    assert about is not None
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text[1])), np.uint8).reshape(2, -1)
    numbers = np.ascontiguousarray(planes.T).view("<f2").ravel()
    arrays = torch_arrays(player.model)
    assert json.loads(about[1])["models"][0]["arrays"] == [[k, x.size] for k, x in arrays.items()]
    expected = np.concatenate([x.ravel() for x in arrays.values()])
    np.testing.assert_array_equal(numbers, expected.astype(np.float16))


def test_four_models_of_the_papers_size_weigh_at_most_three_megabytes() -> None:
    experiment = Experiment(encoding="randomized-relative")
    players = [Player(f"run {i}", experiment, random_model(experiment, i)) for i in range(4)]
    assert len(make_playground(players).encode()) <= 3_000_000


REFUSED: dict[str, dict[str, Any]] = {
    "geometric": {"encoding": "geometric"},
    "randomized-fire": {"encoding": "randomized-fire"},
    "unsorted-sincos": {"encoding": "unsorted-sincos"},
    "released": {"encoding": "randomized-relative", "positions": PositionOptions(32, "released")},
    "per_layer": {
        "encoding": "randomized-relative",
        "positions": PositionOptions(32, "positions", "per_layer"),
    },
    "examples.my_task:Majority": {"task": "examples.my_task:Majority"},
}


@pytest.mark.parametrize("named", REFUSED)
def test_what_the_page_cannot_run_is_refused_by_name(named: str) -> None:
    experiment = tiny(**REFUSED[named])
    with pytest.raises(UserError, match=re.escape(named)) as caught:
        make_playground([Player("abc", experiment, random_model(experiment))])
    assert "run abc" in str(caught.value)


def test_a_setting_that_the_page_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Experiment.to_dict
    monkeypatch.setattr(Experiment, "to_dict", lambda self: usual(self) | {"tape": self.seed})
    make_playground([Variant("none").player("even_pairs")])
    run, experiment, model, *_ = Variant("none").player("even_pairs")
    with pytest.raises(UserError, match="tape=3"):
        make_playground([Player(run, dataclasses.replace(experiment, seed=3), model)])


def test_weights_beyond_half_precision_are_refused() -> None:
    run, experiment, *_ = Variant("none").player("even_pairs")
    model = random_model(experiment)
    wild = eqx.tree_at(lambda m: m.embedding, model, model.embedding * 1e6)
    with pytest.raises(UserError, match="not finite as float16"):
        make_playground([Player(run, experiment, wild)])


def test_the_page_opens_with_the_task_whose_models_differ_most() -> None:
    players = [
        Variant("none").player(task)._replace(run=f"{task}-{score}", score=score)
        for task, scores in (("even_pairs", (0.9, 0.5)), ("bucket_sort", (1.0, 0.2, None)))
        for score in scores
    ]
    assert re.search(r'"first": ?"bucket_sort"', make_playground(players))
    untested = [player._replace(score=None) for player in players]
    assert re.search(r'"first": ?"even_pairs"', make_playground(untested))


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, out = str(Path(__file__).parents[3] / "results"), tmp_path / "page.html"
    assert main(["playground", "--store", store, "--out", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    whole = out.read_text()
    assert whole.startswith("<!doctype html>")
    assert main(["playground", "f638", "--store", store, "--out", str(out)]) == 0
    assert len(out.read_text()) < len(whole)
    assert main(["playground", "--store", str(tmp_path), "--out", str(out)]) == 2
    assert "holds no trained model" in capsys.readouterr().err
    assert main(["playground", "ffff", "--store", store]) == 2
    assert "ffff" in capsys.readouterr().err

"""An encoding in a user's own file: it trains under its path, and mistakes are one sentence."""

import pytest

from randpos import (
    Architecture,
    Evaluation,
    UserError,
    get_combination,
    get_encoding,
    resolve,
    train,
)
from randpos.paper.looks import look
from tests.experiments import tiny

OWN = """
import jax.numpy as jnp
from randpos import Encoding

class RootBias(Encoding):
    name = "root"
    description = "A penalty on the logits proportional to the root of the distance."
    readings = ("positions", "distances")

    def precompute(self, positions, mask):
        slope = 2.0 ** -jnp.arange(1, self.shape.heads + 1)
        return -slope[None, :, None, None] * jnp.sqrt(jnp.abs(positions.offsets))

    def bias(self, q, view, layer):
        return view.precomputed

class Nameless(Encoding):
    pass

class Backwards(RootBias):
    readings = ("distances", "positions")

class Other:
    pass

class Branching(RootBias):
    def bias(self, q, view, layer):
        return view.precomputed if layer == 0 else None

class Counting(RootBias):
    def bias(self, q, view, layer):
        return [1.0, 2.0][layer] * view.precomputed
"""


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    (tmp_path / "own_encodings.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)


def test_an_own_encoding_trains_and_is_tested(tmp_path):
    experiment = tiny(
        encoding="randomized-own_encodings:RootBias", steps=2, evaluation=Evaluation(batch=4)
    )
    run = train(experiment, store=tmp_path / "runs")
    assert run.experiment() == experiment
    assert run.model().encoding.name == "root"
    assert [point.length for point in run.evaluate()[0]] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("prefix", ["", "randomized-", "unsorted-"])
def test_an_own_encoding_has_every_position_scheme(prefix):
    name = f"{prefix}own_encodings:RootBias"
    combination = get_combination(name)
    assert combination.name == name
    assert combination.prefix == prefix.removesuffix("-")
    assert resolve(tiny(encoding=name)).combination == combination
    assert "own_encodings:RootBias" in look(name).label


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module:RootBias", "there is no module 'no_such_module'"),
        ("own_encodings:", "write it as module:Class"),
        ("own_encodings:Missing", "no class 'Missing'; it has RootBias, Nameless, Backwards"),
        ("own_encodings:Other", "Other is not a subclass of randpos.Encoding"),
        ("own_encodings:Nameless", r"attribute\(s\) name, description"),
        ("own_encodings:Backwards", "readings must begin with 'positions'"),
    ],
)
def test_mistakes_are_one_sentence(path, message):
    with pytest.raises(UserError, match=message) as error:
        get_encoding(path)
    assert str(error.value).startswith(f"Encoding {path!r}: ")


@pytest.mark.parametrize("name", ["Branching", "Counting"])
def test_deciding_by_the_number_of_a_layer_is_refused_before_training(name):
    """Training would work, and tests, in which the number is traced, would not."""
    two = Architecture(layers=2, heads=2, dim=8, hidden=8)
    experiment = tiny(encoding=f"randomized-own_encodings:{name}", model=two)
    with pytest.raises(UserError, match="branches in Python on the number of the layer"):
        resolve(experiment)

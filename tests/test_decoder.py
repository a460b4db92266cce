"""A decoder as a whole: settings, refusals, a short training and its tests."""

import dataclasses
import json

import jax
import numpy as np
import polars as pl
import pytest

from randpos import Encoding, Evaluation, Experiment, PositionOptions, Randomized, UserError
from randpos.cli.main import main
from randpos.run import train
from randpos.setup import resolve
from randpos.store.tables import read_store
from tests.experiments import tiny

ALONE = "answers='autoregressive'"


class TwoSided(Encoding):
    """An encoding that no decoder can have."""

    name, description, causal = "two-sided", "None.", False


def decoder(**changes) -> Experiment:
    return tiny(answers="autoregressive", **changes)


def test_a_decoder_is_causal_and_one_run_however_it_is_written():
    written = decoder(model=dataclasses.replace(tiny().model, causal=True))
    assert decoder().model.causal
    assert written == decoder()
    assert written.digest == decoder().digest != tiny().digest
    assert Experiment.from_dict(json.loads(json.dumps(written.to_dict()))) == written


def test_answers_that_are_new_symbols_get_tokens_of_their_own():
    def vocabulary(experiment: Experiment) -> int:
        return resolve(experiment).layout.vocabulary

    assert vocabulary(tiny()) == vocabulary(decoder()) == 4
    assert vocabulary(decoder(task="binary_addition")) == 6  # 0, 1, +, the end, and two reserved
    assert vocabulary(tiny(thinking=1)) == vocabulary(decoder(thinking=1)) == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoding": f"{__name__}:TwoSided"}, f"{ALONE} does not apply to .*no causal form"),
        (
            {
                "encoding": "randomized-alibi",
                "positions": PositionOptions(32, "distances", both_sides=True),
            },
            "both_sides draws distances to the right, but in a decoder nothing stands",
        ),
        ({"thinking": -1}, "thinking=-1 must lie between 0 and 100"),
    ],
)
def test_what_no_decoder_can_have_is_refused(changes, message):
    with pytest.raises(UserError, match=message):
        resolve(tiny(**{"answers": "autoregressive", **changes}))


def test_a_scale_that_does_not_apply_is_refused_before_a_run_begins():
    model = dataclasses.replace(tiny().model, attention_scale="log")
    with pytest.raises(UserError, match="attention_scale='log' does not apply to geometric"):
        resolve(tiny(encoding="geometric", model=model))
    resolve(tiny(encoding="relative", model=model))


def test_both_sides_need_distances():
    for reading in ("positions", "released"):
        with pytest.raises(UserError, match=r"both_sides draws distances, but .*reading="):
            PositionOptions(reading=reading, both_sides=True)
    with pytest.raises(UserError, match="both_sides draws distances, but reading='positions'"):
        resolve(
            tiny(encoding="randomized-relative", positions=PositionOptions(32, both_sides=True))
        )


def test_distances_to_both_sides_are_two_draws():
    """Each is sorted, and a table of its own: tokens equally far apart are equally distant."""
    drawn = Randomized(50, reading="distances", both_sides=True).sample(jax.random.key(2), 6, 8)
    offsets = np.asarray(drawn.offsets)
    left, right = offsets[:6, 0], -offsets[0, :6]
    for side in (left, right):
        assert side[0] == 0
        assert (np.diff(side) > 0).all()
        assert side.max() < 50
    assert not np.array_equal(left, right)
    for i, j in np.ndindex(6, 6):
        assert offsets[i, j] == (left[i - j] if i >= j else -right[j - i])
    one_sided = Randomized(50, reading="distances").sample(jax.random.key(2), 6, 8)
    assert np.array_equal(np.asarray(one_sided.offsets)[:6, 0], left)  # the same draw


def test_members_of_an_ensemble_are_decoders_alone_and_are_tested_along_the_way(tmp_path):
    experiment = decoder(
        encoding="randomized-relative", steps=100, evaluation=Evaluation(batch=16, every=100)
    )
    both = train(experiment, seeds=[0, 1], store=tmp_path / "both", progress=False)
    alone = train(experiment, seeds=[1], store=tmp_path / "alone", progress=False)
    curves = both.evaluate(progress=False)
    assert curves[1] == alone.evaluate(progress=False)[0]
    assert all(point.forced is not None for point in curves[1])
    (line, *_) = both.folders[1].lines("tests.jsonl")
    assert 0 <= line["forced"] <= 1
    stored = read_store(tmp_path / "both").accuracies
    assert stored["forced"].null_count() == 0
    assert stored.filter(pl.col("length") == 6)["accuracy"].len() == 2


def test_the_command_line_refuses_in_a_sentence(tmp_path, capsys):
    command = [
        "train",
        "--budget",
        "smoke",
        "--answers",
        "autoregressive",
        "--store",
        str(tmp_path),
    ]
    options = ["--encoding", "randomized-alibi", "--positions.both-sides"]
    assert main([*command, *options]) == 2
    assert "nothing stands to the right" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())

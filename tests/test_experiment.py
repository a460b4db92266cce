"""An experiment's defaults, checks, identity and plain form."""

import json
import subprocess
import sys
from typing import Any

import jaxtyping
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from randpos import (
    Architecture,
    Evaluation,
    Experiment,
    PositionOptions,
    Schedule,
    UserError,
    combinations,
    preset,
    resolve,
)
from randpos.experiment import PRESETS
from randpos.plain_data import flat


@pytest.fixture(autouse=True)
def untyped():
    """Messages are for people, whose programs check no types."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


PAPER = {
    "steps": 2_000_000,
    "batch": 128,
    "clip": 1.0,
    "test_length": 500,
    "positions.maximum": 2048,
    "positions.reading": "default",
    "positions.draw": "per_batch",
    "model.layers": 5,
    "model.heads": 8,
    "model.dim": 64,
    "model.hidden": 256,
    "model.dropout": 0.1,
    "model.causal": False,
    "lengths.name": "uniform",
    "lengths.maximum": 40,
    "evaluation.stride": 1,
    "evaluation.batch": 500,
}


def changed(path: str, value: Any) -> Experiment:
    """The default experiment with one field changed, as it would be read from a file."""
    head, _, rest = path.partition(".")
    return Experiment.from_dict({head: {rest: value} if rest else value})


def test_the_default_is_the_papers():
    default = flat(Experiment().to_dict())
    assert {path: default[path] for path in PAPER} == PAPER
    assert Experiment().learning_rate in (1e-4, 3e-4, 5e-4)


BAD = [
    ("steps", 0, "steps=0"),
    ("batch", 0, "batch=0"),
    ("learning_rate", 0.0, "learning_rate=0.0"),
    ("learning_rate", float("nan"), "learning_rate=nan"),
    ("learning_rate", -1.0, "learning_rate=-1.0"),
    ("clip", 0.0, "clip=0.0"),
    ("clip", float("inf"), "clip=inf"),
    ("steps", 2**31, "steps=2147483648 must be at most 2,147,483,647"),
    ("batch", 10**30, "batch=1000000000000000000000000000000 must be at most"),
    pytest.param("learning_rate", 10**400, "must be of type float", id="too large for a float"),
    pytest.param("steps", 2**20_000, "steps=(int too large to be shown)", id="too many digits"),
    ("test_length", 10**6 + 1, "test_length=1000001 must be at most 1,000,000"),
    ("model.layers", 1001, "layers=1001 must be at most 1,000"),
    ("model.dim", 8 * 10**6, "dim=8000000 must be at most 1,000,000"),
    ("evaluation.batch", 2**31, "evaluation.batch=2147483648 must be at most"),
    ("seed", -1, "seed=-1"),
    ("seed", 2**32, "seed=4294967296"),
    ("test_length", 0, "test_length=0"),
    ("test_length", 39, "test_length=39 is shorter than the training length N=40"),
    ("positions.maximum", -1, "L=-1"),
    ("positions.reading", "nearest", "Unknown reading 'nearest'"),
    ("positions.draw", "per_token", "Unknown draw 'per_token'"),
    ("model.layers", 0, "layers=0"),
    ("model.heads", 0, "heads=0"),
    ("model.heads", 7, "heads=7 does not divide dim=64"),
    ("model.dim", 0, "dim=0"),
    ("model.hidden", 0, "hidden=0"),
    ("model.dropout", 1.0, "dropout=1.0"),
    ("model.dropout", -0.1, "dropout=-0.1"),
    ("lengths.name", "random", "Unknown length schedule 'random'"),
    ("lengths.maximum", 0, "lengths.maximum=0"),
    ("lengths.initial", 0, "lengths.initial=0"),
    ("lengths.increase", 0, "lengths.increase=0"),
    ("lengths.every", 0, "lengths.every=0"),
    ("lengths.decay", float("inf"), "lengths.decay=inf"),
    ("lengths.seed", -1, "lengths.seed=-1"),
    ("evaluation.stride", 0, "evaluation.stride=0"),
    ("evaluation.batch", 0, "evaluation.batch=0"),
    ("evaluation.seed", -1, "evaluation.seed=-1"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD)
def test_a_bad_value_is_named(path, value, message):
    with pytest.raises(UserError) as raised:
        changed(path, value)
    assert message in str(raised.value)
    assert str(raised.value).endswith(".")


UNRESOLVABLE = [
    ("task", "reverse", "Unknown task 'reverse'"),
    ("encoding", "rotary", "Unknown encoding 'rotary'"),
    pytest.param("task", "x" * 10_000, "Unknown task 'xxx", id="long name"),
    ("positions.maximum", 999, "L=999 is too small for reverse_string at length 500"),
    ("batch", 10**9, "batch=1000000000 is too large for 80 tokens and dim=64"),
    ("evaluation.batch", 2**31 - 1, "evaluation.batch=2147483647 is too large for 1000 tokens"),
]


@pytest.mark.parametrize(("path", "value", "message"), UNRESOLVABLE)
def test_a_value_that_fits_nothing_is_named_when_it_is_resolved(path, value, message):
    experiment = changed(path, value)
    with pytest.raises(UserError) as raised:
        resolve(experiment)
    assert message in str(raised.value)
    assert str(raised.value).endswith(".")


def test_settings_load_neither_jax_nor_a_task():
    program = (
        "import sys; from randpos import Experiment\n"
        "print(Experiment(task='no_such_module:Task', encoding='randomized-mine:Own').digest)\n"
        "assert 'jax' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_default_reading_of_the_settings_is_that_of_the_class():
    for name, combination in combinations().items():
        assert Experiment(encoding=name).reading == combination.default_reading, name
        assert Experiment(encoding=name).encoding_name == name


@pytest.mark.parametrize("options", [{"reading": "nearest"}, {"draw": "never"}, {"maximum": -1}])
def test_options_of_positions_are_checked_even_where_they_have_no_effect(options):
    with pytest.raises(UserError):
        Experiment(encoding="sincos", positions=PositionOptions(**options))


def test_ordinal_positions_need_no_maximum():
    resolve(Experiment(encoding="sincos", positions=PositionOptions(maximum=1)))


def test_duplicate_string_is_refused_where_it_needs_more_positions():
    with pytest.raises(UserError, match=r"L=1024 .* needs 1500 positions; .*maximum 1500 or more"):
        resolve(Experiment(task="duplicate_string", positions=PositionOptions(maximum=1024)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "experiment must be a table"),
        (None, "experiment must be a table"),
        ({"colour": 1}, "experiment has no field 'colour'"),
        ({"model": {"depth": 1}}, "experiment.model has no field 'depth'"),
        ({"model": 5}, "experiment.model must be a table"),
        ({"steps": "5"}, "experiment.steps='5' must be of type int"),
        ({"steps": 5.0}, "experiment.steps=5.0 must be of type int"),
        ({"steps": True}, "experiment.steps=True must be of type int"),
        ({"task": 3}, "experiment.task=3 must be of type str"),
        ({"learning_rate": "x"}, "experiment.learning_rate='x' must be of type float"),
        ({"model": {"causal": 1}}, "experiment.model.causal=1 must be of type bool"),
    ],
)
def test_data_of_the_wrong_form_is_refused(data, message):
    with pytest.raises(UserError, match=message):
        Experiment.from_dict(data)


OTHER = {
    "task": "odds_first",
    "encoding": "randomized-rope",
    "steps": 7,
    "batch": 7,
    "learning_rate": 1e-4,
    "clip": 2.0,
    "seed": 7,
    "test_length": 400,
    "positions.maximum": 4096,
    "positions.reading": "distances",
    "positions.draw": "per_layer",
    "positions.both_sides": True,
    "model.layers": 4,
    "model.heads": 4,
    "model.dim": 128,
    "model.hidden": 128,
    "model.dropout": 0.2,
    "model.causal": True,
    "model.attention_scale": "log",
    "model.window": 5,
    "answers": "autoregressive",
    "thinking": 2,
    "lengths.name": "fixed",
    "lengths.maximum": 39,
    "lengths.initial": 2,
    "lengths.increase": 2,
    "lengths.every": 2,
    "lengths.decay": 0.5,
    "lengths.seed": 2,
    "optimizer.name": "muon",
    "optimizer.warmup": 7,
    "optimizer.final_rate": 0.5,
    "optimizer.weight_decay": 0.5,
    "optimizer.average": 0.5,
}


def test_every_field_is_varied_below():
    fields = {name for name in flat(Experiment().to_dict()) if not name.startswith("evaluation.")}
    assert fields == set(OTHER)


def test_a_run_of_another_field_is_another_run():
    digests = {path: changed(path, value).digest for path, value in OTHER.items()}
    assert [path for path in digests if digests[path] == Experiment().digest] == []
    assert len(set(digests.values())) == len(digests)


def test_a_run_tested_otherwise_is_the_same_run():
    for name in ("stride", "batch", "seed"):
        assert changed(f"evaluation.{name}", 7).digest == Experiment().digest


def test_the_digest_never_changes():
    # If this fails, every stored run of the default experiment has lost its name.
    assert Experiment().digest == "7c89267123643887"


def test_label_is_randomized_learned():
    assert Experiment(encoding="label").digest == Experiment(encoding="randomized-learned").digest


def test_a_whole_number_for_a_rate_is_the_same_run():
    assert Experiment(learning_rate=1, clip=2) == Experiment(learning_rate=1.0, clip=2.0)
    assert Experiment(learning_rate=1).digest == Experiment(learning_rate=1.0).digest


FIELDS = {
    "task": st.sampled_from(["reverse_string", "even_pairs", "stack_manipulation"]),
    "encoding": st.sampled_from(["none", "randomized-sincos", "unsorted-relative", "label"]),
    "steps": st.integers(1, 2**31 - 1),
    "batch": st.integers(1, 10**4),
    "learning_rate": st.floats(1e-12, 1e12),
    "clip": st.floats(1e-12, 1e12),
    "seed": st.integers(0, 2**32 - 1),
    "test_length": st.integers(50, 500),
    "positions": st.builds(PositionOptions, maximum=st.integers(1001, 5000)),
    "model": st.builds(
        Architecture,
        layers=st.integers(1, 3),
        heads=st.sampled_from([1, 2, 4]),
        dim=st.sampled_from([8, 16]),
        dropout=st.floats(0, 0.99),
        causal=st.booleans(),
    ),
    "lengths": st.builds(
        Schedule,
        name=st.sampled_from(["uniform", "fixed", "regular_increase", "reverse_exponential"]),
        maximum=st.integers(1, 50),
        decay=st.floats(1e-9, 1e9),
    ),
    "evaluation": st.builds(Evaluation, stride=st.integers(1, 99), batch=st.integers(1, 99)),
}


@given(st.fixed_dictionaries(FIELDS))
@settings(max_examples=25)
def test_plain_data_reads_back_as_the_same_experiment(fields):
    experiment = Experiment(**fields)
    back = Experiment.from_dict(json.loads(json.dumps(experiment.to_dict())))
    assert back == experiment
    assert back.digest == experiment.digest


def test_a_part_of_the_fields_is_enough():
    assert Experiment.from_dict({"steps": 3}) == Experiment(steps=3)


def test_the_paper_is_a_preset_and_the_default():
    assert preset("paper") == Experiment()


def test_presets_leave_task_encoding_and_seed_alone():
    for name in PRESETS:
        for field in ("task", "encoding", "seed", "clip"):
            assert getattr(preset(name), field) == getattr(Experiment(), field), name


def test_an_unknown_preset_is_named():
    with pytest.raises(UserError, match="Unknown preset 'desktop'"):
        preset("desktop")


@pytest.mark.parametrize(("encoding", "count"), [("none", 249_026), ("relative", 270_146)])
def test_the_papers_model_has_the_papers_size(encoding, count):
    assert resolve(Experiment(encoding=encoding)).parameter_count == count
